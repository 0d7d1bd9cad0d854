package main

import (
	"encoding/json"
	"strconv"
	"time"

	"ulnet/scoll/wire"
)

// MarshalJSON implements json.Marshaler.
func (q *collectiveRequest) MarshalJSON() ([]byte, error) {
	e := collectiveEntry{
		Kind: q.kind(), Flags: q.Flags.String(), Tree: q.Tree.String(), Nodes: q.Nodes, ReplyBits: hex(q.ReplyBits),
		RTT: micros(q.RTT), Guard: micros(q.Guard), BulkTime: micros(q.BulkTime), Processing: micros(q.Processing), Carry: q.Carry, Hold: micros(q.Hold),
		ListSize: q.ListSize, Segment: q.Segment, Payload: q.payload.entry(), Order: q.order, Remarks: q.remarks,
	}
	e.identify(q)
	e.hop(q.hop)
	if q.Flags&wire.FlagSubset != 0 {
		e.Live = q.Live.String()
	}
	if q.evictions != nil {
		e.Order, e.Evictions = "", q.evictions.entry()
	}
	if q.Bulk.Length > 0 {
		e.Bulk = &rmaEntry{hex(q.Bulk.Bits), q.Bulk.Length}
	}
	if q.List.Length > 0 {
		e.List = &rmaEntry{hex(q.List.Bits), q.List.Length}
	}
	return json.Marshal(e)
}

func micros(d time.Duration) int64 { return d.Microseconds() }

// collectiveEntry is a message of collectives as JSON.
type collectiveEntry struct {
	Kind        string  `json:"kind"` // broadcast, create, destroy, progress, hold, reply, fetch, data; question and answer about incarnations
	Service     *uint32 `json:"service,omitempty"`
	Group       string  `json:"group,omitempty"`
	Digest      string  `json:"digest,omitempty"`
	Sequence    string  `json:"sequence,omitempty"`
	First       string  `json:"first_attempt,omitempty"`
	Incarnation string  `json:"root_incarnation,omitempty"`
	Root        *uint32 `json:"root,omitempty"` // rank
	RootNID     string  `json:"root_nid,omitempty"`
	From        *int    `json:"from_rank,omitempty"`
	To          *int    `json:"to_rank,omitempty"`
	Level       *int    `json:"level,omitempty"` // of the lower of both, below the root
	Flags       string  `json:"flags,omitempty"`

	Tree       string    `json:"tree,omitempty"` // of requests, as far as Bulk
	Nodes      uint32    `json:"nodes,omitempty"`
	ReplyBits  string    `json:"reply_bits,omitempty"`
	RTT        int64     `json:"rtt_us,omitempty"`
	Guard      int64     `json:"guard_us,omitempty"`
	BulkTime   int64     `json:"bulk_us,omitempty"`
	Processing int64     `json:"processing_us,omitempty"`
	Carry      uint16    `json:"carry,omitempty"` // bytes of answers that are passed on
	Hold       int64     `json:"hold_us,omitempty"`
	Live       string    `json:"live_digest,omitempty"`
	ListSize   uint32    `json:"list_size,omitempty"`
	List       *rmaEntry `json:"list,omitempty"`
	Bulk       *rmaEntry `json:"bulk,omitempty"`
	Segment    uint32    `json:"segment,omitempty"`

	Nonce           string `json:"nonce,omitempty"`       // of a question and its answer
	NodeIncarnation string `json:"incarnation,omitempty"` // of the node that answers

	Status        *uint16        `json:"status,omitempty"` // of replies, as far as Missing
	StatusText    string         `json:"status_text,omitempty"`
	Part          *uint32        `json:"part,omitempty"`
	ErrorNodes    uint32         `json:"error_nodes,omitempty"` // that an error speaks for
	ErrorEntities uint32         `json:"error_entities,omitempty"`
	Carried       []carriedEntry `json:"carried,omitempty"` // answers that are passed on
	Missing       []missingEntry `json:"missing,omitempty"`

	What   string  `json:"what,omitempty"`   // is fetched: bulk data, list of members
	Offset *uint32 `json:"offset,omitempty"` // in it
	Total  uint64  `json:"total,omitempty"`  // length of it
	There  *uint64 `json:"there,omitempty"`  // of it, at the parent
	Held   *bool   `json:"held,omitempty"`   // of words of holding: no more if false

	Payload   *snippetEntry   `json:"payload,omitempty"`
	Order     string          `json:"order,omitempty"`     // for lnetd's administration
	Evictions *evictionsEntry `json:"evictions,omitempty"` // for client health, and what came of them
	Remarks   []string        `json:"odd,omitempty"`
}

type rmaEntry struct {
	Bits   string `json:"match_bits"`
	Length uint64 `json:"length"`
}

// identify says which request it is, or belongs to.
func (e *collectiveEntry) identify(q *collectiveRequest) {
	service := uint32(q.Service)
	e.Service, e.Group, e.Digest, e.Root = &service, q.Group.String(), q.Group.Digest.String(), &q.Root
	e.Sequence, e.First = strconv.FormatUint(q.Sequence, 10), strconv.FormatUint(q.First, 10)
	e.Incarnation = strconv.FormatUint(q.RootIncarnation, 10)
	if q.members != nil {
		e.RootNID = q.members.NID(int(q.Root)).String()
	}
}

func (e *collectiveEntry) hop(h hop) {
	if h.known() {
		e.From, e.To, e.Level = &h.from, &h.to, &h.level
	}
}
