// Package kit has the parts of adapters. An adapter makes a protocol available in scenarios;
// package flood has the smallest one.
//
// An adapter's network embeds a [Base], which is the network of the simulator, of bare machines
// ([Start]) or of whole stacks ([Base.StartStacks]), and calls the adapter for each [sim.Act], such
// as a fault of a node or link. With Check, Sample and Measures it is the [scenario.Instance]. A
// [Condition] is a condition that files can use, with the function that evaluates it; [All] is the
// answer to a condition about several things. Bare machines may exchange [Message], which has a
// codec and a digest. [Discovery] tells nodes of deaths and returns, and errs as gossip does. [sim.Cuts]
// keeps account of partitions and cuts, [Sum] adds up the counters of many machines, [Delays] sums up
// how late something was noticed, [Quantile] returns a quantile of durations, and a [Plan] draws a scenario.
package kit
