// Package shell has what socklnd and o2iblnd keep around their machines in the same way: the
// address that makes a NID ([Chooser]), the peers of an NI, its scans and tasks ([Peers]), the time-out in
// force ([Patience]), the number of messages that an NI owns ([Messages]), events to report once a lock is
// released ([Events]), and warnings that were logged already ([Warnings]).
//
// It knows nothing of LNet and of wire formats. The work for each message costs no more than
// it would in the driver: a few instructions, which the compiler inlines.
package shell
