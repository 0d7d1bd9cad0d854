// Package collective has the usual operations of parallel programs as services over
// [scoll.Group.Call]: a [Barrier], at which all members wait for each other, an [Allgather],
// after which all have what each brought, and a [Fence], behind which no member works for an
// earlier epoch.
//
// One member leads each operation: it asks the others, and tells them when all have come. If
// the leader dies, they wait until their own contexts end. Members whose programs have not
// started are not waited for: docs/collectives.md has a loop that does so. All members register the operation
// under the same service id, each with its own agent. Methods are safe for concurrent use,
// and must not be called where they would block callbacks.
//
// Who leads is what the root of a request says, and is as trustworthy (scoll.Request.RootNID).
package collective
