// Package collective has the usual operations of parallel programs as services over
// [scoll.Group.Call]. At a [Barrier] all members wait for each other. After an [Allgather] all
// members have the data of each. A [Fence] ends work for earlier epochs at all members.
//
// One member, the leader, runs each operation: it asks the others, and tells them when all have
// arrived. If the leader dies, the others wait until their own contexts end, or until another
// leader opens the point. A member that has answered a leader refuses other leaders with EPERM
// until the first one has opened the point or given up, is dead or unknown to its discovery, or is
// five seconds past the deadline of its question.
//
// An operation does not wait for members whose programs have not started; docs/collectives.md has
// a loop that does. All members register the operation under the same service id, each with its
// own agent. Methods are safe for concurrent use. They block, so callbacks must not call them.
//
// The leader is the root of the request, and its NID is as trustworthy as
// scoll.Request.RootNID. docs/security.md says what other nodes can do.
package collective
