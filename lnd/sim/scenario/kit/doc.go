// Package kit is what adapters of protocols are made of: each brings its protocol into
// scenarios, and package flood shows the smallest one.
//
// An adapter's network embeds a [Base], which is the network of the simulator, of bare
// machines ([Start]) or of whole stacks ([Base.StartStacks]), and tells the adapter what is
// done to nodes and links ([sim.Act]). With Check, Sample and Measures it is the
// [scenario.Instance]. A [Condition] declares what files can ask together with the answer.
// Bare machines may exchange [Message], which has a codec and a digest. [sim.Cuts] are what
// partitions and cuts keep apart, [Sum] adds counters of many machines up, and a [Plan]
// draws a scenario.
package kit
