// Package engine has the machine of a test node of lnet_selftest, Lustre's test of its network:
// the session with a console, the batches of tests, and the RPCs of these tests, as client and
// as server (selftest §2, §5 to §9). Consoles of kernel nodes and ours drive it.
//
// The machine decides, and the shell moves bytes. The shell hands each request that arrives to
// Step; the machine answers with effects: replies, transfers of bulk data, and requests of its
// own. The machine never sees bulk data: [Fill] and [Verify] write and check their pattern, and
// the shell reports the outcome.
//
//	n, err := engine.NewNode(cfg)
//	wake := n.Step(now, engine.Input{Kind: engine.Arrived, Peer: from, Self: to, Service: bits, Data: b}, &out)
//	wake = n.Step(wake, engine.Input{}, &out) // when the clock reaches wake
//
// Everything that a console or a test client causes is bounded: requests that wait, memory of bulk
// data, for all and for each client, memory of this node's own RPCs, batches, tests and their
// units. Requests beyond a bound are dropped or refused; RPCs of this node wait.
//
// This package is unstable: names and fields change without notice.
package engine
