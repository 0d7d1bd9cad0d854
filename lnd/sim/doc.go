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
// # What a message meets
//
//	sender    its access link, if that has a bandwidth: bulk waits for all
//	          sent before, priority for earlier priority only
//	faults    a cut-off receiver, then loss, duplication: what is lost here
//	          occupies no link behind
//	topology  the shared links of the path, in order (see Topology)
//	link      latency, reordering
//	receiver  its access link, then its host: a crashed one is silent, one
//	          without a process refuses; then its CPU: while the node works or
//	          is paused, messages queue, up to Config.Inbox
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
