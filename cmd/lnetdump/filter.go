package main

import (
	"slices"
	"strings"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// typeNames are the names of message types for --type and for the JSON output.
var typeNames = []string{
	"ACK", "PUT", "GET", "REPLY", "HELLO", "NOOP", "ACCEPTOR", "CM", "PUT_ACK", "PUT_NAK", "PUT_DONE", "GET_DONE",
}

// rememberedHandles bounds how many requests are remembered so that --portal selects their
// answers, too.
const rememberedHandles = 1 << 16

// filter selects the records to show.
type filter struct {
	nids    []nid.NID
	types   []string
	portals []uint32

	// handles are the handles of MDs that will receive answers to requests to the wanted portals.
	// The field ring has the same handles in their order, so that the oldest can be forgotten.
	handles map[wire.MDHandle]bool
	ring    []wire.MDHandle
	at      int
}

func newFilter(o *options) (*filter, error) {
	f := &filter{}
	for _, s := range o.nids {
		n, err := nid.Parse(s)
		if err != nil {
			return nil, cli.Usagef("--nid: %w", err)
		}
		f.nids = append(f.nids, n)
	}
	for _, s := range o.types {
		s = strings.ToUpper(s)
		if !slices.Contains(typeNames, s) {
			return nil, cli.Usagef("--type: %q is none of %s", s, strings.ToLower(strings.Join(typeNames, ", ")))
		}
		f.types = append(f.types, s)
	}
	for _, p := range o.portals {
		f.portals = append(f.portals, uint32(p))
	}
	f.reset()
	return f, nil
}

// reset removes the handles of a source before the next source is read.
func (f *filter) reset() {
	f.handles, f.at = map[wire.MDHandle]bool{}, 0
	if len(f.portals) > 0 {
		f.ring = make([]wire.MDHandle, rememberedHandles)
	}
}

func (f *filter) match(r *capture.Record) bool {
	onPortal := len(f.portals) == 0 || f.onPortal(r)
	return onPortal && f.hasType(r) && f.hasNID(r)
}

func (f *filter) hasType(r *capture.Record) bool {
	return len(f.types) == 0 || slices.Contains(f.types, r.Type())
}

// hasNID reports whether a NID of the message is wanted or, if the record is not a message, a
// NID of the connection.
func (f *filter) hasNID(r *capture.Record) bool {
	if len(f.nids) == 0 {
		return true
	}
	var of []nid.NID
	switch r.Kind {
	case capture.Message:
		of = []nid.NID{r.Header.SrcNID, r.Header.DestNID}
	case capture.Hello:
		of = []nid.NID{r.Hello.SrcNID, r.Hello.DstNID}
	case capture.Request:
		of = []nid.NID{r.Request.NID}
	default:
		of = r.Conn.NIDs[:]
	}
	return slices.ContainsFunc(of, func(n nid.NID) bool { return slices.Contains(f.nids, n) })
}

// onPortal reports whether the record is a request to a wanted portal or the answer to one.
func (f *filter) onPortal(r *capture.Record) bool {
	if portal, ok := r.Portal(); ok {
		wanted := slices.Contains(f.portals, portal)
		if wanted && r.Header.Type == wire.Get {
			f.remember(r.Header.Get().ReturnMD)
		} else if wanted {
			f.remember(r.Header.Put().AckMD)
		}
		return wanted
	}
	if r.Kind != capture.Message {
		return false
	}
	switch r.Header.Type {
	case wire.Ack:
		return f.handles[r.Header.Ack().DstMD]
	case wire.Reply:
		return f.handles[r.Header.Reply().DstMD]
	}
	return false
}

func (f *filter) remember(h wire.MDHandle) {
	if h.IsNone() || f.handles[h] {
		return
	}
	delete(f.handles, f.ring[f.at])
	f.ring[f.at], f.handles[h] = h, true
	f.at = (f.at + 1) % len(f.ring)
}
