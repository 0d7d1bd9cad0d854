// Package recovery decides about the health of NIs, of this node and of peers. [Judge] decides
// which NI is to blame for a failed message, and whether the message is sent again. [Machine]
// decides when to ping an NI that is not well. The package corresponds to LNet's
// lnet_health_check (lib-msg.c) and the recovery of its monitor thread (lib-move.c), as pure
// functions and a machine that lnet and the agent of package discovery step.
//
// # Health
//
// Health is a value from 0 to 1000 for each NI of this node and each NID of other nodes, which
// begins at 1000. A failure subtracts the sensitivity (100) from the health of the NI that is
// to blame. A message that was sent adds as much to the local NI, and a message that arrived
// adds it to both NIs. The choice of paths prefers NIs with more health.
//
// # Recovery
//
// The choice of paths avoids an NI with low health, so that it carries no messages and could
// not recover by itself. So every NI below 1000 is pinged, 1 s after its health fell, then
// after 2, 4, 8, … s. An answer raises health like any message that arrives, and the back-off
// begins anew. It also begins anew when the link of an NI is up again, or the node of a peer NI
// reports that the NI is.
//
// A peer NI is pinged itself, by whichever local NI is best. A local NI pings a peer that was
// heard through it and, if that does not answer, the next time another one. It does so once a minute at
// least, because most peers do not know before that the NI works again.
//
// In LNet a local NI pings its own NID. On Linux such a message goes through the host's loopback and
// proves nothing about the link. Also, a node that accepts messages from itself over the wire would
// accept forged ones.
package recovery
