// Package sim runs protocol machines, from two to a million, on a network in
// virtual time.
//
// A [Network] has nodes, each with a [Program], and links that delay, lose,
// double and reorder messages, share bandwidth, and can be cut. Nodes crash,
// restart, pause and slow down, and their clocks drift. Everything random is drawn from
// one seed: the same program, configuration and calls give the same events, which
// [Network.Digest] shows.
//
// The simulator knows nothing of LNet; package simlnd runs whole LNet stacks
// on it. It is single-threaded: one goroutine calls a Network's methods, and
// programs are stepped inside of [Network.Run].
//
// # What happens to a message
//
//	sender    If the sender's access link has a bandwidth, a bulk message waits for
//	          all messages sent before it, a priority message for earlier priority
//	          messages only
//	faults    A message to a receiver that is cut off is lost; others are lost or
//	          duplicated at random. What is lost here occupies no later link
//	topology  The message crosses the shared links of its path, in order (see
//	          Topology)
//	link      Latency and reordering delay it
//	receiver  It crosses the receiver's access link. A crashed host does not answer,
//	          and a host without a process refuses the message. While the node works
//	          or is paused, messages queue for its CPU, up to Config.Inbox
//
// # Determinism
//
// Events are ordered by time, and at the same instant by the order in which
// they were caused. Random numbers are taken in that order from one PCG.
// Maps are never iterated. Floating point is used in the drawing of
// distributions only, so a digest holds for one architecture.
//
// A digest covers the inputs and outputs of all programs, and nothing else. [Verify]
// makes a run twice and finds the step in which a program was not deterministic; a
// [Recorder] keeps the steps, and [Replay] makes them again without the network.
package sim
