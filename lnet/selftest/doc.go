// Package selftest makes a node a test node of lnet_selftest, by which Lustre sites measure and
// prove their network: a console, of a kernel node or ours, makes a session with the node, adds
// tests to batches, runs them and asks for counters. The node sends and serves the RPCs of the
// tests, PING and BRW (selftest §1, §2 and §11).
//
//	agent, err := selftest.New(node.Table(), selftest.Config{Allow: func(id nid.NID) bool { return trusted[id] }})
//	defer agent.Close(ctx)
//
// An agent starts no goroutine: requests and timers of the node step it where they arise, so it
// runs in virtual time, too. Anyone who may send to the node can measure with it, unless
// Config.Allow says otherwise: tests load the network and the nodes.
package selftest
