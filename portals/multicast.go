package portals

import (
	"math"
	"syscall"

	"ulnet/lnd"
	"ulnet/lnet"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Group is the number of a multicast group.
type Group = lnd.Group

// PutMulticastRequest says what to put to a multicast group. The whole MD is sent.
type PutMulticastRequest struct {
	Self      nid.NID  // the local NID to send from; zero or Any: the first with multicast
	MD        MDHandle // handle of the bound MD with the data
	Group     Group    // group that receives the PUT; not 0
	Portal    int      // portal index at the targets
	MatchBits uint64   // match bits of the PUT
	Offset    uint32   // offset in the targets' MDs, if these have the option ManageRemote
	HdrData   uint64   // 64 bits that the targets' PUT events have
}

// PutMulticast sends an MD's data to all members of a group in one datagram (RM-A22). Each
// member that has joined the group for this portal gets an ordinary PUT that asks for no ACK: the
// same match entries, the same checks, and the same event, whose Target is the group's NID. But
// the PUT may be lost, or come twice, and a lazy portal drops it if no ME takes it. This node does
// not get the message.
//
// A nil error means that a SEND event will follow, which says that the datagram has left, or
// why it could not be sent.
//
//	EOPNOTSUPP  the NI has no multicast, or none has: errors.ErrUnsupported
//	EMSGSIZE    the MD is longer than Table.MulticastLimits allows
//	EIO         the group's NID was given to lnet.Node.FailNID
//	ENOENT      the MD is gone, exhausted, or attached to an ME
//	EINVAL      no such portal or group, or Self is no NID of this node
func (t *Table) PutMulticast(r PutMulticastRequest) error {
	ni, err := t.multicastNI(r.Self, r.Group)
	if err != nil {
		return opError("PutMulticast", err)
	}
	put := PutRequest{
		Self: ni.NID(), MD: r.MD, Target: nid.ProcessID{NID: ni.GroupNID(r.Group), PID: nid.LustrePID},
		Portal: r.Portal, MatchBits: r.MatchBits, Offset: r.Offset, HdrData: r.HdrData,
	}
	var b begun
	if err := t.begin(&b, wire.Put, &put, ni.MulticastLimits().MaxPayload); err != nil {
		return &OpError{Op: "PutMulticast", NID: put.Target.NID, Err: err}
	}
	o := t.sending(&b, wire.Put, &put)
	o.Source, o.Group = put.Self, r.Group
	o.Priority = o.event.Options&Priority != 0
	t.putHeader(&o.Header, &b, &put)
	o.Payload = b.payload(o.event.Segments)
	t.node.Send(&o.Message)
	return nil
}

func (t *Table) multicastNI(self nid.NID, g lnd.Group) (*lnet.NI, error) {
	if !g.IsValid() {
		return nil, syscall.EINVAL
	}
	return t.node.MulticastNI(self)
}

// JoinGroup makes this node receive PUTs of other nodes to a group at one of its portals, at the NI
// that PutMulticast with the same self would use. Any host on the network can send datagrams under
// any NID, so the users of that portal cannot rely on Event.Source where Event.Group is set;
// datagrams to portals for which the group was not joined are dropped ([lnet.NoMulticast]). After
// several calls, as many calls of LeaveGroup are needed to leave the group. An NI that takes the
// place of one that was removed joins its groups; if it cannot, the log says why, and it tries
// again when an NI or its link changes.
//
//	EOPNOTSUPP  the NI has no multicast, or none has: errors.ErrUnsupported
//	EINVAL      no such group or portal, or self is no NID of this node
//
// Other errors are those of the driver.
func (t *Table) JoinGroup(self nid.NID, g Group, portal int) error {
	return opError("JoinGroup", t.joinGroup(self, g, portal))
}

// LeaveGroup undoes one JoinGroup with the same arguments. Messages that have arrived already are
// still delivered. ENOENT: there was no JoinGroup. Other errors as JoinGroup.
func (t *Table) LeaveGroup(self nid.NID, g Group, portal int) error {
	return opError("LeaveGroup", t.leaveGroup(self, g, portal))
}

// MulticastLimits returns the largest payload of a datagram from this NID, and how many bytes
// of arrived datagrams may wait here to be read. Errors as JoinGroup.
func (t *Table) MulticastLimits(self nid.NID) (lnd.MulticastLimits, error) {
	ni, err := t.node.MulticastNI(self)
	if err != nil {
		return lnd.MulticastLimits{}, opError("MulticastLimits", err)
	}
	return ni.MulticastLimits(), nil
}

// noLimit is the limit of payload for messages other than multicast datagrams: only the size of the
// MD limits those.
const noLimit = math.MaxInt
