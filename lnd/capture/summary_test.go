package capture_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/wire"
)

type object = map[string]any

// summary counts the records of one capture in the shape of expected.json.
type summary struct {
	packets, ours int
	conns         []*connSummary
	byConn        map[*capture.Conn]*connSummary

	helloRecords, messages, payloadByType map[string]int
	portals                               map[string]int
	sources, destinations                 map[string]bool
	ksock                                 struct{ lnet, bare, noop, keepalive int }
	requests                              []uint64
	acksInNoop, acksPiggybacked           int
	checksums                             struct{ good, bad, absent int }
	pingGets                              map[wire.MDHandle]bool
	pings, pingReplies, pushes            int
	pingInfo                              []any
}

// connSummary is one entry of connections.list.
type connSummary struct {
	entry     object
	hellos    [2]*ksock.Hello
	refusal   bool
	streams   [2]uint64
	undecoded [2]uint64
	counts    [2]int
}

func newSummary() *summary {
	return &summary{
		byConn:        map[*capture.Conn]*connSummary{},
		helloRecords:  map[string]int{},
		messages:      map[string]int{"ACK": 0, "PUT": 0, "GET": 0, "REPLY": 0, "HELLO": 0},
		payloadByType: map[string]int{"PUT": 0, "REPLY": 0},
		portals:       map[string]int{},
		sources:       map[string]bool{},
		destinations:  map[string]bool{},
		pingGets:      map[wire.MDHandle]bool{},
		requests:      []uint64{},
		pingInfo:      []any{},
	}
}

func (s *summary) add(r *capture.Record) {
	if r.Kind == capture.Opened {
		c := &connSummary{entry: object{
			"initiator": r.Conn.Ends[capture.Initiator].String(), "acceptor": r.Conn.Ends[capture.Acceptor].String(),
			"first_frame": r.Conn.FirstFrame, "request": nil, "hello_initiator": nil, "hello_acceptor": nil,
		}}
		s.conns, s.byConn[r.Conn] = append(s.conns, c), c
		return
	}
	c := s.byConn[r.Conn]
	c.streams[r.From] += r.Length
	switch r.Kind {
	case capture.Request:
		c.entry["request"] = object{"version": r.Request.Version, "byte_order": byteOrder(r.Request.BigEndian), "nid": r.Request.NID.String()}
	case capture.Refusal:
		c.refusal = true
		c.entry["request_reply"] = object{"version": r.Request.Version, "nid": fmt.Sprintf("%#x", r.Request.NID.Value4())}
	case capture.Hello:
		s.addHello(c, r)
	case capture.Noop:
		c.counts[r.From]++
		s.addNoop(r)
	case capture.Message:
		c.counts[r.From]++
		s.addMessage(r)
	case capture.Unknown:
		c.undecoded[r.From] += r.Length
		c.malformed(r)
	}
}

func (s *summary) addHello(c *connSummary, r *capture.Record) {
	h := r.Hello.Version
	s.helloRecords[h.String()]++
	if h == ksock.V1 {
		s.messages["HELLO"]++
	}
	entry := object{"version": uint32(h)}
	c.entry[helloKey(r.From)] = entry
	if errors.Is(r.Err, ksock.ErrVersion) {
		entry["malformed"] = "version"
		return
	}
	hello := r.Hello
	c.hellos[r.From] = &hello
	entry["byte_order"] = byteOrder(hello.BigEndian)
	entry["src_nid"] = hello.SrcNID.String()
	if h != ksock.V1 {
		entry["dst_nid"] = hello.DstNID.String()
	}
	entry["src_pid"] = uint32(hello.SrcPID)
	entry["incarnation"] = strconv.FormatUint(hello.SrcIncarnation, 10)
	entry["type"] = hello.ConnType.String()
	switch {
	case errors.Is(r.Err, ksock.ErrConnType):
		entry["type"], entry["malformed"] = int32(hello.ConnType), "type"
	case errors.Is(r.Err, ksock.ErrAddresses):
		entry["nips"], entry["malformed"] = hello.AddressCount, "nips"
	}
}

// malformed is called for a request or HELLO that was not understood: it replaces the entry by
// the reason.
func (c *connSummary) malformed(r *capture.Record) {
	key, why := helloKey(r.From), ""
	if r.Offset == 0 && r.From == capture.Initiator {
		key = "request"
	}
	switch {
	case errors.Is(r.Err, wire.ErrMagic), errors.Is(r.Err, ksock.ErrMagic):
		why = "magic"
	case errors.Is(r.Err, capture.ErrCut):
		why = "truncated"
	default:
		return
	}
	c.entry[key] = object{"malformed": why}
}

func (s *summary) addNoop(r *capture.Record) {
	s.ksock.noop++
	acks, _ := r.Ksock.Acks()
	if r.Ksock.IsKeepalive() {
		s.ksock.keepalive++
	} else if acks.Len() > 0 {
		s.acksInNoop++
	}
	s.addChecksum(r.Checksum)
}

func (s *summary) addMessage(r *capture.Record) {
	h := &r.Header
	s.messages[h.Type.String()]++
	s.sources[h.SrcNID.String()], s.destinations[h.DestNID.String()] = true, true
	if h.Type == wire.Put || h.Type == wire.Reply {
		s.payloadByType[h.Type.String()] += int(h.PayloadLength)
	}
	if portal, ok := r.Portal(); ok {
		s.portals[strconv.Itoa(int(portal))]++
	}
	s.addPing(r)
	if !r.Framed {
		s.ksock.bare++
		return
	}
	s.ksock.lnet++
	if c := r.Ksock.Request(); c != 0 {
		s.requests = append(s.requests, c)
	}
	if acks, _ := r.Ksock.Acks(); acks.Len() > 0 {
		s.acksPiggybacked++
	}
	s.addChecksum(r.Checksum)
}

func (s *summary) addPing(r *capture.Record) {
	h := &r.Header
	portal, request := r.Portal()
	carrier := "REPLY"
	switch {
	case h.Type == wire.Get && portal == wire.PingPortal:
		s.pings++
		s.pingGets[h.Get().ReturnMD] = true
		return
	case request && h.Type == wire.Put && portal == wire.PingPortal:
		s.pushes++
		carrier = "PUSH"
	case h.Type == wire.Reply && s.pingGets[h.Reply().DstMD]:
		s.pingReplies++
	default:
		return
	}
	p, ok := r.PingInfo()
	if !ok {
		return
	}
	nids := []string{}
	for _, ni := range p.NIs {
		nids = append(nids, ni.NID.String())
	}
	s.pingInfo = append(s.pingInfo, object{
		"frame": r.Frame, "carrier": carrier, "from_nid": h.SrcNID.String(),
		"features": fmt.Sprintf("%#x", uint32(p.Features)), "sequence": p.Sequence, "nids": nids,
	})
}

func (s *summary) addChecksum(c capture.ChecksumState) {
	switch c {
	case capture.ChecksumNone:
		s.checksums.absent++
	case capture.ChecksumGood:
		s.checksums.good++
	case capture.ChecksumBad:
		s.checksums.bad++
	}
}

// json returns the summary in the form in which encoding/json decodes expected.json.
func (s *summary) json() object {
	outcomes, byVersion, byType := map[string]int{}, map[string]int{}, map[string]int{}
	list, undecoded := []any{}, uint64(0)
	for _, c := range s.conns {
		outcome := c.outcome()
		outcomes[outcome]++
		if outcome == "established" {
			byVersion[c.hellos[0].Version.String()]++
			byType[c.hellos[0].ConnType.String()]++
		}
		undecoded += c.undecoded[0] + c.undecoded[1]
		c.entry["outcome"] = outcome
		c.entry["stream_bytes"], c.entry["undecoded_bytes"], c.entry["messages"] = c.streams, c.undecoded, c.counts
		list = append(list, c.entry)
	}
	return roundTrip(object{
		"transport": "tcp", "frames": s.packets, "non_tcp_frames": s.packets - s.ours,
		"connections": object{
			"total": len(s.conns), "outcomes": outcomes, "established_by_version": byVersion,
			"established_by_type": byType, "list": list,
		},
		"hello_records": s.helloRecords, "lnet_messages": s.messages,
		"lnet_payload_bytes":         s.payloadByType["PUT"] + s.payloadByType["REPLY"],
		"lnet_payload_bytes_by_type": s.payloadByType,
		"nids":                       object{"source": sorted(s.sources), "destination": sorted(s.destinations)},
		"portals":                    s.portals,
		"ksock": object{
			"lnet": s.ksock.lnet, "bare_v1": s.ksock.bare, "noop": s.ksock.noop,
			"noop_keepalive": s.ksock.keepalive, "noop_ack": s.ksock.noop - s.ksock.keepalive,
		},
		"zero_copy": object{
			"requests": len(s.requests), "cookies": s.requests,
			"acks_in_noop": s.acksInNoop, "acks_piggybacked": s.acksPiggybacked,
		},
		"checksums": object{
			"present": s.checksums.good + s.checksums.bad, "ok": s.checksums.good,
			"bad": s.checksums.bad, "absent": s.checksums.absent,
		},
		"ping":            object{"get": s.pings, "reply": s.pingReplies, "push": s.pushes, "info": s.pingInfo},
		"undecoded_bytes": undecoded,
	})
}

func (c *connSummary) outcome() string {
	a, b := c.hellos[0], c.hellos[1]
	switch {
	case c.streams == [2]uint64{}:
		return "tcp_failed"
	case c.refusal:
		return "request_refused"
	case b != nil && b.ConnType == ksock.None:
		return "refused"
	case a != nil && b != nil && a.Version == b.Version && a.ConnType == b.ConnType.Invert():
		return "established"
	}
	return "closed"
}

func helloKey(s capture.Side) string {
	if s == capture.Initiator {
		return "hello_initiator"
	}
	return "hello_acceptor"
}

func byteOrder(bigEndian bool) string {
	if bigEndian {
		return "be"
	}
	return "le"
}

func sorted(set map[string]bool) []string {
	list := []string{}
	for s := range set {
		list = append(list, s)
	}
	slices.Sort(list)
	return list
}

func roundTrip(o object) object {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	var out object
	if err := json.Unmarshal(b, &out); err != nil {
		panic(err)
	}
	return out
}
