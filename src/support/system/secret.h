/* The user's secret: nobody else knows it. It is the key of the seals by which tctune recognises its own files. */
#ifndef TC_SUPPORT_SYSTEM_SECRET_H
#define TC_SUPPORT_SYSTEM_SECRET_H

#include <stdbool.h>

/* 32 bytes, drawn at random. */
typedef struct tc_secret {
    unsigned char bytes[32];
} tc_secret;

/* This user's, from the file `.secret` of their folder (user_folder.h), which is made if need be: the same for all processes of
 * the user that have this folder. Where there is no such folder, or it takes no file, it is one of this process, and of those
 * that it forks, and where something stands in its way that is said once, in the log. The first call decides for the process.
 * false: the system gives no random numbers. Safe from several threads. */
bool tc_user_secret(tc_secret *out);

#endif
