// child.c - see child.h.
#include "child.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

void child_init(child *self) {
    *self = (child){.folder = temp_folder_make()};
}

void child_deinit(child *self) {
    free(self->out);
    free(self->err);
    temp_folder_remove(&self->folder);
}

static void redirect(const char *path, int stream) {
    const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (file < 0 || dup2(file, stream) < 0) _exit(99);
    close(file);
}

static void become_hox(const child *self, const char *const *words) {
    char *arguments[32] = {(char *)"hox"};
    for (int i = 0; words[i] && i < 30; i++)
        arguments[i + 1] = (char *)words[i];
    unsetenv("HOX_PLUGIN_PATH");
    setenv("XDG_DATA_HOME", "/nowhere", 1);
    setenv("TERM", "xterm", 1);
    if (chdir(self->folder.path) != 0) _exit(99);
    redirect("stderr", STDERR_FILENO);
    redirect(self->out_path && *self->out_path ? self->out_path : "stdout", STDOUT_FILENO);
    if (self->out_path && !*self->out_path) close(STDOUT_FILENO);
    for (int stream = 0; self->closes_all && stream <= STDERR_FILENO; stream++)
        close(stream);
    execv(HOX_EXECUTABLE, arguments);
    _exit(99);
}

void child_start(child *self, const char *const *words) {
    self->process = fork();
    cr_assert_geq(self->process, 0);
    if (self->process == 0) become_hox(self, words);
}

void child_wait(child *self) {
    int status;
    cr_assert_eq(waitpid(self->process, &status, 0), self->process);
    self->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    cr_assert_neq(self->code, 99, "hox could not be started");
    free(self->out);
    free(self->err);
    self->out = self->out_path ? strdup("") : child_read(self, "stdout");
    self->err = child_read(self, "stderr");
}

void child_run(child *self, const char *const *words) {
    child_start(self, words);
    child_wait(self);
}

void child_wait_for(child *self, const char *text) {
    enum { STEP_MS = 5 };
    for (int waited = 0; waited < 60 * 1000; waited += STEP_MS) {
        char *path = temp_path(&self->folder, "stderr");
        char *err = access(path, R_OK) == 0 ? temp_read(path, NULL) : strdup("");
        const bool is_there = strstr(err, text) != NULL;
        siginfo_t info = {0};
        free(path);
        free(err);
        if (is_there) return;
        waitid(P_PID, (id_t)self->process, &info, WEXITED | WNOHANG | WNOWAIT);
        if (info.si_pid == self->process) {
            child_wait(self);
            cr_assert_fail("ended with %d before \"%s\": %s", self->code, text, self->err);
        }
        usleep(STEP_MS * 1000);
    }
    kill(self->process, SIGKILL);
    child_wait(self);
    cr_assert_fail("no \"%s\" in a minute: %s", text, self->err);
}

char *child_read(const child *self, const char *name) {
    char *path = temp_path(&self->folder, name);
    char *text = temp_read(path, NULL);
    free(path);
    return text;
}

void child_write(const child *self, const char *name, const char *text) {
    char *path = temp_path(&self->folder, name);
    temp_write(path, text);
    free(path);
}

size_t line_count(const char *text) {
    size_t count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}
