package main

import (
	"encoding/json"

	"ulnet/lnet/nid"
)

// mcastJSON is a message of reliable multicast as JSON, with the fields of its kind.
// Versions of lists are texts: epochs have 64 bits.
type mcastJSON struct {
	Kind        string       `json:"kind"`
	Group       uint32       `json:"group"`
	Flags       string       `json:"flags,omitempty"`
	Signed      bool         `json:"signed,omitempty"`
	List        string       `json:"list,omitempty"`
	Origin      uint32       `json:"origin,omitempty"`
	Seq         *uint64      `json:"seq,omitempty"`
	Index       *uint16      `json:"fragment,omitempty"`
	Count       uint16       `json:"fragments,omitempty"`
	Length      *uint32      `json:"length,omitempty"` // of the message
	Stable      *uint64      `json:"stable,omitempty"`
	First       *uint64      `json:"first,omitempty"`
	Entries     []entryJSON  `json:"entries,omitempty"`
	Epoch       string       `json:"epoch,omitempty"`
	Usable      string       `json:"usable,omitempty"`
	Oldest      string       `json:"oldest,omitempty"`
	Incarnation string       `json:"life,omitempty"`
	You         uint32       `json:"you,omitempty"`
	MTU         uint32       `json:"mtu,omitempty"`
	Capacity    uint32       `json:"capacity,omitempty"`
	Window      uint32       `json:"window,omitempty"`
	Members     []memberJSON `json:"members,omitempty"`
	Failed      []memberJSON `json:"failed,omitempty"`
}

type entryJSON struct {
	Kind    string `json:"kind"`
	Flags   string `json:"flags,omitempty"`
	Origin  uint32 `json:"origin"`
	List    string `json:"list"`
	First   uint64 `json:"first"`
	Count   uint32 `json:"count"`
	Who     uint32 `json:"who,omitempty"`
	Repairs uint16 `json:"repairs"`
	Stable  uint64 `json:"stable"`
}

type memberJSON struct {
	Number      uint32  `json:"number,omitempty"`
	NID         nid.NID `json:"nid"`
	Incarnation string  `json:"life"`
}

// MarshalJSON implements json.Marshaler.
func (d *mcastDatagram) MarshalJSON() ([]byte, error) {
	e := mcastJSON{
		Kind: d.kind(), Group: uint32(d.Group), Flags: d.flags(), Signed: d.signed, List: d.Version.String(), Origin: d.Origin, Seq: &d.Seq,
		Stable: &d.Stable, First: &d.First,
	}
	if d.Count > 0 {
		e.Index, e.Count, e.Length = &d.Index, d.Count, &d.Length
	}
	return json.Marshal(e)
}

// MarshalJSON implements json.Marshaler.
func (m *mcastControl) MarshalJSON() ([]byte, error) {
	e := mcastJSON{Kind: "control", Group: uint32(m.group), Signed: m.signed, List: m.known.String()}
	for i := range m.entries {
		c := &m.entries[i]
		flags := ""
		if c.Flags != 0 {
			flags = c.Flags.String()
		}
		e.Entries = append(e.Entries, entryJSON{
			c.Kind.String(), flags, c.Origin, c.Version.String(), c.First, c.Count, c.Who, c.Repairs, c.Stable,
		})
	}
	return json.Marshal(e)
}

// MarshalJSON implements json.Marshaler.
func (o *mcastOrder) MarshalJSON() ([]byte, error) {
	e := mcastJSON{
		Kind: o.Kind.String(), Group: uint32(o.Group), Flags: o.flags(), Signed: o.signed, List: o.Version.String(), Epoch: decimal(o.Epoch), Usable: o.Usable.String(),
		Oldest: o.Oldest.String(), Incarnation: decimal(o.Incarnation), You: o.You, MTU: o.MTU, Capacity: o.Capacity, Window: o.Window,
	}
	for _, m := range o.Members {
		e.Members = append(e.Members, memberJSON{m.Number, m.NID, decimal(m.Incarnation)})
	}
	for _, id := range o.Departed {
		e.Failed = append(e.Failed, memberJSON{NID: id.NID, Incarnation: decimal(id.Incarnation)})
	}
	return json.Marshal(e)
}
