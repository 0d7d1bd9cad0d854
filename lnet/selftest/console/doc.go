// Package console is a console of lnet_selftest, Lustre's test of its network: it makes a session
// with test nodes, of kernels and of package selftest, sorts them into groups, adds tests between
// groups to batches, runs these and measures the nodes meanwhile (selftest §10 and §12).
//
//	c, err := console.New(node.Table(), nil, console.Config{})
//	defer c.Close(ctx)
//	_, err = c.NewSession(ctx, console.NewSession{Key: 100, Name: "mine", Features: 1})
//	answers, err := c.AddGroup(ctx, 100, "servers", ids)
//
// Commands block until each node has answered or was given up, 30 s at most for a node that does
// not answer, or until ctx ends. An error says that a command was refused; how each node has
// answered is in the answers. Methods are safe for concurrent use. A console starts no goroutine:
// replies and timers of the node step it where they arise.
package console
