// Package route has what a node knows of gateways, as pure values: the [Table] of routes, the
// grammar of the tunable routes, the rule that says whether a route is alive, and the
// [Checker], a machine that decides when to ask which gateway (LNet router.c). The package
// sends no messages, reads no clock and starts no goroutine; lnet keeps the table, and an agent
// of package discovery steps the machine.
//
// A route says by which gateway messages reach a net on which this node has no NI. The
// gateway is a node that forwards, named by its NID on a net of this node.
package route
