package node

import "ulnet/lnet"

// joinLocals merges all entries with the same NID. If this node has several NIs on a network, it
// has an entry for each of them, with credits and counters of its own, which joinLocals adds up.
// Health and failures already belong to the NID.
func joinLocals(peers []lnet.PeerSnapshot) (list []lnet.PeerSnapshot) {
	for _, p := range peers { // entries of one NID are adjacent
		if at := len(list) - 1; at >= 0 && list[at].NID == p.NID {
			list[at] = join(list[at], p)
		} else {
			list = append(list, p)
		}
	}
	return list
}

func join(a, b lnet.PeerSnapshot) lnet.PeerSnapshot {
	if rankOf(b.State) > rankOf(a.State) {
		a.State, a.Cause = b.State, b.Cause
	}
	a.MaxCredits += b.MaxCredits
	a.Credits += b.Credits
	a.MinCredits += b.MinCredits
	a.RouterMaxCredits += b.RouterMaxCredits
	a.RouterCredits += b.RouterCredits
	a.RouterMinCredits += b.RouterMinCredits
	a.QueuedBytes += b.QueuedBytes
	a.Queued += b.Queued
	a.Parked += b.Parked
	for _, one := range []struct{ to, more *lnet.TypeCounts }{
		{&a.Traffic.Sent, &b.Traffic.Sent}, {&a.Traffic.Received, &b.Traffic.Received}, {&a.Traffic.Dropped, &b.Traffic.Dropped},
	} {
		one.to.Put += one.more.Put
		one.to.Get += one.more.Get
		one.to.Reply += one.more.Reply
		one.to.Ack += one.more.Ack
		one.to.Hello += one.more.Hello
	}
	return a
}

// rankOf orders states for merging: a NID that one NI can reach is up, and a known state takes
// precedence over an unknown one.
func rankOf(state string) int {
	switch state {
	case lnet.PeerStateUp.String():
		return 2
	case lnet.PeerStateUnknown.String():
		return 0
	}
	return 1
}
