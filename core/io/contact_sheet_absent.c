// contact_sheet_absent.c - for builds without libgd.
#include "io/contact_sheet.h"

bool contact_sheet_is_available(void) {
    return false;
}

hox_status contact_sheet_save(const char *path, const contact_sheet *sheet, hox_error *error) {
    (void)sheet;
    return hox_error_set(error, HOX_UNSUPPORTED,
                         "%s: this hox was built without libgd; install libgd-dev and build again",
                         path);
}
