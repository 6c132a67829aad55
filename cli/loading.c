#include "loading.h"

#include <string.h>

static void print_problems(terminal *t, const document *d, const problem_list *problems) {
    for (size_t i = 0; i < problems->count; i++) {
        char text[1024];
        document_describe(d, &problems->items[i], text, sizeof text);
        terminal_error(t, "%s", text);
    }
}

static int load_config(loading *l) {
    problem_list problems = {0};
    hox_error error = HOX_ERROR_INIT;
    const hox_status status = experiment_config_load(&l->config, &l->document, &l->plugins,
                                                     &l->terminal->log, &problems, &error);
    int code = EXIT_OK;
    if (problems.count > 0) {
        print_problems(l->terminal, &l->document, &problems);
        code = command_exit_code(status, false);
    } else if (status != HOX_OK) {
        code = loading_explain(l, &error, false);
    }
    problem_list_deinit(&problems);
    return code;
}

int loading_open(loading *l, const char *file, const command_line *line, terminal *t) {
    const option_values *sets = command_line_values(line, "set");
    const option_values *paths = command_line_values(line, "plugin-path");
    hox_error error = HOX_ERROR_INIT;
    *l = (loading){.terminal = t};
    hox_status status = catalog_init(&l->plugins, paths->items, paths->count, &error);
    if (status == HOX_OK)
        status = document_load(&l->document, file, sets->items, sets->count, &error);
    int code = command_exit_code(status, false);
    if (status == HOX_OK)
        code = load_config(l);
    else
        terminal_error(t, "%s", error.message);
    if (code != EXIT_OK) loading_close(l);
    return code;
}

void loading_close(loading *l) {
    experiment_config_deinit(&l->config);
    document_deinit(&l->document);
    catalog_deinit(&l->plugins);
    *l = (loading){0};
}

static const char *status_text(hox_status status) {
    switch (status) {
#define X(name, number, text)                                                                      \
    case HOX_##name: return text;
        HOX_STATUS_MAP(X)
#undef X
        default: return "unknown status";
    }
}

int loading_explain(const loading *l, const hox_error *error, bool is_running) {
    const char *colon = strstr(error->message, ": ");
    const bool names_setting = error->status == HOX_BAD_OPTION || error->status == HOX_DEVICE;
    if (names_setting && error->message[0] == '/' && colon) {
        char pointer[HOX_ERROR_MESSAGE_SIZE], text[1024];
        snprintf(pointer, sizeof pointer, "%.*s", (int)(colon - error->message), error->message);
        document_describe(&l->document, &(problem){pointer, colon + 2}, text, sizeof text);
        terminal_error(l->terminal, "%s", text);
    } else if (error->message[0]) {
        terminal_error(l->terminal, "%s", error->message);
    } else { // a plugin that failed without a word
        terminal_error(l->terminal, "a plugin failed and did not say why: %s",
                       status_text(error->status));
    }
    return command_exit_code(error->status, is_running);
}
