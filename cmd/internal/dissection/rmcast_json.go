package dissection

import (
	"ulnet/lnet/nid"
	"ulnet/scoll/rmcast"
)

// mcastObject returns the fields that all messages of reliable multicast have. Versions of
// rosters are strings, because they contain epochs of 64 bits.
func mcastObject(kind string, group rmcast.GroupID, flags string, signed bool, list rmcast.Version) object {
	o := object{{"kind", kind}, {"group", uint32(group)}}
	o.some("flags", flags)
	o.some("signed", signed)
	o.some("list", list.String())
	return o
}

// MarshalJSON implements json.Marshaler.
func (d *mcastDatagram) MarshalJSON() ([]byte, error) {
	o := mcastObject(d.kind(), d.Group, d.flags(), d.signed, d.Version)
	o.some("origin", d.Origin)
	o.put("seq", d.Seq)
	switch {
	case d.packed():
		o.put("messages", d.Count)
	case d.Count > 0:
		o.put("fragment", d.Index)
		o.put("fragments", d.Count)
		o.put("length", d.Length) // length of the whole message
	}
	o.put("stable", d.Stable)
	o.put("first", d.First)
	if d.control != nil {
		o.put("control", d.control)
	}
	return o.MarshalJSON()
}

// MarshalJSON implements json.Marshaler.
func (m *mcastControl) MarshalJSON() ([]byte, error) {
	o := mcastObject("control", m.group, "", m.signed, m.known)
	var entries []object
	for i := range m.entries {
		c := &m.entries[i]
		e := object{{"kind", c.Kind.String()}}
		if c.Flags != 0 {
			e.some("flags", c.Flags.String())
		}
		e = append(e, object{{"origin", c.Origin}, {"list", c.Version.String()}, {"first", c.First}, {"count", c.Count}}...)
		e.some("who", c.Member)
		entries = append(entries, append(e, object{{"repairs", c.Repairs}, {"stable", c.Stable}}...))
	}
	o.some("entries", entries)
	return o.MarshalJSON()
}

// MarshalJSON implements json.Marshaler.
func (m *mcastOrder) MarshalJSON() ([]byte, error) {
	o := mcastObject(m.Kind.String(), m.Group, m.flags(), m.signed, m.Version)
	o.put("epoch", decimal(m.Epoch))
	o.some("usable", m.Usable.String())
	o.some("oldest", m.Oldest.String())
	o.put("life", decimal(m.Incarnation))
	o.some("you", m.You)
	o.some("mtu", m.MTU)
	o.some("capacity", m.Capacity)
	o.some("window", m.Window)
	var members, failed []object
	for _, member := range m.Members {
		members = append(members, memberObject(member.Number, member.NID, member.Incarnation))
	}
	for _, id := range m.Departed {
		failed = append(failed, memberObject(0, id.NID, id.Incarnation))
	}
	o.some("members", members)
	o.some("failed", failed)
	return o.MarshalJSON()
}

func memberObject(number uint32, id nid.NID, incarnation uint64) (o object) {
	o.some("number", number)
	o.put("nid", id)
	o.put("life", decimal(incarnation))
	return o
}
