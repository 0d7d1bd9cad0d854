// Package netem emulates a bad wire: it delays, reorders, duplicates, corrupts
// and loses Ethernet frames, and bounds their rate, as tc-netem(8) does with a
// kernel module (sch_netem) that many kernels lack.
//
// A line is one direction of a wire. It is a pure machine: its input is a frame and an instant,
// its output the copies that leave, and when. A [Wire] is the shell that moves frames between
// two devices, one line for each direction. The [Plan] of a line can be changed at any time;
// frames that are already on the line are not affected.
//
// Everything random comes from the seed: the same frames at the same instants
// have the same outcome. Frames are lost in two ways only, both counted: by chance
// (Plan.Loss), and from the tail when more bytes are on the line than
// Plan.Queue allows.
//
// Every corruption can be detected. One 16-bit word of the IP packet is changed in a way that
// always changes its Internet checksum (RFC 1071), so a receiver that verifies checksums drops
// the packet. If random bits in several words were changed, TCP's 16-bit checksum would
// sometimes accept the packet, and a protocol above TCP without a checksum of its own would be
// blamed for the error.
package netem
