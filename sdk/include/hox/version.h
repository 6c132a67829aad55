// version.h - which hox these headers are of.
#pragma once

#define HOX_VERSION_TEXT "0.1.0"
