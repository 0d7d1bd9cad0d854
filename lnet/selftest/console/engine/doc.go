// Package engine has the machine of a console of lnet_selftest, Lustre's test of its network:
// the session, groups of test nodes, batches of tests, and the RPCs to the nodes by which a
// console makes, runs and measures them (selftest §5, §6, §9, §10 and §12). Its nodes are those
// of kernels and of lnet/selftest.
//
// The machine decides, and the shell sends. A command is an input; the machine answers with the
// requests to send and, when the last node has answered or has been given up, with the result.
//
//	c, err := engine.New(cfg)
//	wake := c.Step(now, engine.Input{Kind: engine.Do, ID: 1, Command: &engine.NewSession{...}}, &out)
//	wake = c.Step(now, engine.Input{Kind: engine.Replied, ID: id, Data: reply}, &out)
//	wake = c.Step(wake, engine.Input{}, &out) // when the clock reaches wake
//
// Everything is bounded: the nodes, groups, batches and tests of the session, and the RPCs under
// way. No test is sent that would crash a kernel node (selftest §14).
//
// This package is unstable: names and fields change without notice.
package engine
