// cmd_completion.c - hox completion: scripts for shells, made from the command table.
#include "command.h"

#include <stdio.h>
#include <string.h>

// Commands come in families: the first word, and for some a second ("" where there is none).
static int first_word(const command *c) {
    return (int)strcspn(c->name, " ");
}

static const char *second_word(const command *c) {
    const char *space = strchr(c->name, ' ');
    return space ? space + 1 : "";
}

static bool begins_family(const command *c) {
    return c == commands || strncmp(c[-1].name, c->name, (size_t)first_word(c) + 1) != 0;
}

// Text for between single quotes, in shells that end a quote to escape one.
static void print_quoted(const char *text) {
    putchar('\'');
    for (; *text; text++)
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    putchar('\'');
}

// ---- bash ----

static void print_bash_options(const command *c) {
    printf("            \"%s%s) words=\"", c->name, *second_word(c) ? "\"" : " \"*");
    for (size_t i = 0; command_option(c, i); i++)
        printf("%s--%s", i ? " " : "", command_option(c, i)->name);
    puts("\" ;;");
}

static void print_bash(void) {
    puts("# bash completion for hox: source it, or keep it as\n"
         "# ~/.local/share/bash-completion/completions/hox\n"
         "_hox() {\n"
         "    local word=${COMP_WORDS[COMP_CWORD]} words=\"\"\n"
         "    if [[ $word == -* && $COMP_CWORD -gt 1 ]]; then\n"
         "        case \"${COMP_WORDS[1]} ${COMP_WORDS[2]}\" in");
    for (const command *c = commands; c->name; c++)
        print_bash_options(c);
    fputs("        esac\n"
          "    elif [[ $COMP_CWORD -eq 1 ]]; then\n"
          "        words=\"--help --version",
          stdout);
    for (const command *c = commands; c->name; c++)
        if (begins_family(c)) printf(" %.*s", first_word(c), c->name);
    puts("\"\n    elif [[ $COMP_CWORD -eq 2 ]]; then\n"
         "        case ${COMP_WORDS[1]} in");
    for (const command *c = commands; c->name; c++)
        if (*second_word(c))
            printf("            %.*s) words+=\" %s\" ;;&\n", first_word(c), c->name,
                   second_word(c));
    puts("        esac\n"
         "    fi\n"
         "    if [[ -n $words ]]; then\n"
         "        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
         "    else\n"
         "        mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
         "    fi\n"
         "}\n"
         "complete -o filenames -F _hox hox");
}

// ---- zsh ----

static void print_zsh_command(const command *c) {
    printf("        '%s'*) _arguments", c->name);
    for (size_t i = 0; command_option(c, i); i++) {
        const option *o = command_option(c, i);
        char text[256];
        snprintf(text, sizeof text, "%s--%s%s[%s]%s%s", o->is_repeatable ? "*" : "", o->name,
                 o->argument ? "=" : "", o->help, o->argument ? ":" : "",
                 o->argument ? o->argument : "");
        for (char *colon = strchr(text, '['); colon && *colon != ']'; colon++)
            if (*colon == ':') *colon = ','; // a colon would end the description
        fputs(" \\\n            ", stdout);
        print_quoted(text);
    }
    puts(" \\\n            '*:file:_files' ;;");
}

static void print_zsh(void) {
    puts("#compdef hox\n"
         "# zsh completion for hox: keep it as _hox in a folder of $fpath\n"
         "_hox() {\n"
         "    local -a families\n"
         "    if (( CURRENT == 2 )); then\n"
         "        families=(");
    for (const command *c = commands; c->name; c++) {
        if (!begins_family(c)) continue;
        char text[160];
        snprintf(text, sizeof text, "%.*s:%s", first_word(c), c->name, c->summary);
        fputs("            ", stdout);
        print_quoted(text);
        putchar('\n');
    }
    puts("        )\n"
         "        _describe command families\n"
         "        return\n"
         "    fi\n"
         "    if (( CURRENT == 3 )); then\n"
         "        case $words[2] in");
    for (const command *c = commands; c->name; c++) {
        if (!*second_word(c) || !begins_family(c)) continue;
        printf("            %.*s) compadd", first_word(c), c->name);
        for (const command *m = c; m->name && (m == c || !begins_family(m)); m++)
            printf(" %s", second_word(m));
        puts("; return ;;");
    }
    puts("        esac\n"
         "    fi\n"
         "    case \"$words[2] $words[3]\" in");
    for (const command *c = commands; c->name; c++)
        print_zsh_command(c);
    puts("    esac\n"
         "}\n"
         "compdef _hox hox");
}

// ---- fish ----

static void print_fish_command(const command *c) {
    const int length = first_word(c);
    if (begins_family(c)) {
        printf("complete -c hox -n __fish_use_subcommand -f -a %.*s -d ", length, c->name);
        print_quoted(c->summary);
        putchar('\n');
    }
    if (*second_word(c)) {
        printf("complete -c hox -n '__fish_seen_subcommand_from %.*s' -f -a %s -d ", length,
               c->name, second_word(c));
        print_quoted(c->summary);
        putchar('\n');
    }
    for (size_t i = 0; command_option(c, i); i++) {
        const option *o = command_option(c, i);
        printf("complete -c hox -n '__fish_seen_subcommand_from %s' -l %s",
               *second_word(c) ? second_word(c) : c->name, o->name);
        if (o->letter) printf(" -s %c", o->letter);
        if (o->argument) fputs(" -r", stdout);
        fputs(" -d ", stdout);
        print_quoted(o->help);
        putchar('\n');
    }
}

static void print_fish(void) {
    puts("# fish completion for hox: keep it as ~/.config/fish/completions/hox.fish");
    for (const command *c = commands; c->name; c++)
        print_fish_command(c);
}

// ---- the command ----

int cmd_completion(const command_line *line, terminal *t) {
    static const struct {
        const char *name;
        void (*print)(void);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].name, line->words.items[0]) == 0) {
            shells[i].print();
            return EXIT_OK;
        }
    terminal_error(t, "there is no completion for \"%s\"; there is for bash, zsh and fish",
                   line->words.items[0]);
    return EXIT_USAGE;
}
