// Package collective broadcasts evictions of client health over server collectives: it is a
// [health.Broadcaster] on package scoll (CH-10 and CH-A22).
//
// All servers form an out-of-band group, ordered by NID. Such a group costs nothing while no
// client is evicted, and has no creator that could die. A request goes to the servers that
// discovery reports as alive. Servers that disagree about the membership answer ESTALE; package
// scoll asks them again, and after that package health, at its next tick. Answers are merged on
// the way up the tree. The outcome lists the servers that did not answer or were not asked.
//
// # Formats
//
// A request is a [wire.Batch]. The answer is an [Answer]: the merged [wire.Reply] of a subtree,
// and the servers of the subtree that take part but did not answer. These are listed because
// package scoll notices only missing messages: a server whose own answer is not ready in time
// still answers for the servers below it, and lists itself as absent. If a server's answer does
// not parse, the whole subtree counts as not having answered. All servers that did not answer
// are asked again.
//
// # Bounds
//
// Buffers for the answers of other servers take at most Config.MaxMemory bytes; further
// requests are refused with EBUSY. Package scoll bounds the number of requests. The group is
// pinned: other groups can neither evict it from the cache of groups nor use up its place there.
//
// This package starts no goroutine and reads no clock. Callbacks run in the goroutines of
// package scoll.
package collective
