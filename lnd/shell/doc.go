// Package shell has what the drivers of networks keep around their machines in the
// same way: the address that makes a NID ([Chooser]), how many messages an NI owns
// ([Messages]), what a peer tells once its lock is released ([Events]), and what was
// logged already ([Warnings]).
//
// It knows nothing of LNet and of what is on a wire. What a driver does for each message
// costs no more than it would in the driver: a few instructions, which the compiler inlines.
package shell
