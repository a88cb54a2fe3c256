/* Machines of a fleet that exist in part: workers whose times are computed and waited for, a tuner that proposes without
 * searching, and a wire that loses messages. Started by lab.sh, each in a network namespace. */
#ifndef TC_TESTS_FLEET_LAB_H
#define TC_TESTS_FLEET_LAB_H

/* Each is a subcommand of fleet_lab: its arguments are those after its name, and it returns the status to exit with; on arguments
 * that make no sense -1. */
int lab_worker(int argc, char **argv); /* URL NAME THREADS SECONDS LEASE [LIE] */
int lab_tuner(int argc, char **argv);  /* URL NAME THREADS COUNT SECONDS SEED [WEIGHT] */
int lab_proxy(int argc, char **argv);  /* ADDRESS PORT SERVER PORT SEED [garbage] */

#endif
