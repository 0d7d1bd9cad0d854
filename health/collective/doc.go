// Package collective lets client health broadcast evictions over server
// collectives: it is the [health.Broadcaster] of servers that have package scoll
// (CH-10 and CH-A22).
//
// All servers are an out-of-band group, in the order of their NIDs, so that it
// costs nothing while nobody is evicted and has no creator who could die. A
// request goes to those that are alive, as discovery says; servers that disagree
// about who that is answer ESTALE, and are asked again by scoll and then by the
// next tick of health. Answers are merged on the way up. Who did not answer is
// listed, and so are those that were not asked.
//
// # Formats
//
// A request is a [wire.Batch], an answer an [Answer]: a [wire.Reply] of all
// who answered, and the names of those who did not and whom scoll does not name:
// it sees to it that answers arrive, not what they say. A server that is not ready
// to answer, or does not in time, answers for those below it; what a server makes
// of no sense counts for nobody below it either. They all are asked again.
//
// # Bounds
//
// Answers of others take at most Config.MaxMemory bytes of buffers at a time;
// further requests are refused with EBUSY. The number of requests is scoll's to
// bound. The group is pinned: no number of other groups makes it go, or keeps it
// out.
//
// It starts no goroutine and reads no clock; callbacks come from wherever scoll
// makes them.
package collective
