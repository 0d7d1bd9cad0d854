package dissection

import (
	"fmt"
	"slices"
	"strings"

	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// Types are the names of message types, as filters take them and the JSON output has them.
var Types = []string{
	"ACK", "PUT", "GET", "REPLY", "HELLO", "NOOP", "ACCEPTOR", "CM", "PUT_ACK", "PUT_NAK", "PUT_DONE", "GET_DONE",
}

// rememberedHandles bounds how many requests are remembered so that a filter by portals selects their
// answers, too.
const rememberedHandles = 1 << 16

// Wanted says which records a Filter selects. An empty list selects all.
type Wanted struct {
	NIDs    []string // NIDs of which one sends or gets the message
	Types   []string // names of types, upper or lower case
	Portals []uint   // portals of PUTs and GETs, also of their ACKs and REPLYs
}

// Filter selects the records to show.
type Filter struct {
	nids    []nid.NID
	types   []string
	portals []uint32

	handles *bounded[wire.MDHandle, bool] // the handles of MDs that will receive answers to requests to the wanted portals
}

// NewFilter returns a filter. Errors name the list that they are about: nid or type.
func NewFilter(w Wanted) (*Filter, error) {
	f := &Filter{}
	for _, s := range w.NIDs {
		n, err := nid.Parse(s)
		if err != nil {
			return nil, fmt.Errorf("nid: %w", err)
		}
		f.nids = append(f.nids, n)
	}
	for _, s := range w.Types {
		s = strings.ToUpper(s)
		if !slices.Contains(Types, s) {
			return nil, fmt.Errorf("type: %q is none of %s", s, strings.ToLower(strings.Join(Types, ", ")))
		}
		f.types = append(f.types, s)
	}
	for _, p := range w.Portals {
		f.portals = append(f.portals, uint32(p))
	}
	f.Reset()
	return f, nil
}

// Reset removes the handles of a source before the next source is read.
func (f *Filter) Reset() { f.handles = newBounded[wire.MDHandle, bool](rememberedHandles) }

// Match reports whether the filter selects a record.
func (f *Filter) Match(r *capture.Record) bool {
	onPortal := len(f.portals) == 0 || f.onPortal(r)
	return onPortal && f.hasType(r) && f.hasNID(r)
}

func (f *Filter) hasType(r *capture.Record) bool {
	return len(f.types) == 0 || slices.Contains(f.types, r.Type())
}

// hasNID reports whether a NID of the message is wanted or, if the record is not a message, a
// NID of the connection.
func (f *Filter) hasNID(r *capture.Record) bool {
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
func (f *Filter) onPortal(r *capture.Record) bool {
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
		return f.handles.known[r.Header.Ack().DstMD]
	case wire.Reply:
		return f.handles.known[r.Header.Reply().DstMD]
	}
	return false
}

func (f *Filter) remember(h wire.MDHandle) {
	if !h.IsNone() {
		f.handles.put(h, true)
	}
}
