package dissection

import (
	"errors"
	"fmt"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
	selftestwire "ulnet/lnet/selftest/wire"
	"ulnet/lnet/wire"
)

// selftests is the dissector of lnet_selftest. Only the match bits of a reply or of bulk data tell
// to which request it belongs, so selftests remembers the match bits that requests name for these.
type selftests struct {
	requests *bounded[matched, *selftestRequest] // requests, by the match entry for their reply
	bulks    *bounded[matched, *selftestRequest] // requests, by the match entry for their bulk data
	fetches  *bounded[sink, *selftestFetch]
}

func newSelftests() *selftests {
	return &selftests{
		requests: newBounded[matched, *selftestRequest](rememberedRequests),
		bulks:    newBounded[matched, *selftestRequest](rememberedRequests),
		fetches:  newBounded[sink, *selftestFetch](rememberedRequests),
	}
}

// read parses a message, or returns false if it is not one of selftest.
func (s *selftests) read(r *capture.Record) (capture.Payload, bool) {
	if r.Kind != capture.Message {
		return capture.Payload{}, false
	}
	is, err := capture.Understood(nil), error(nil)
	portal, _ := r.Portal()
	switch h := &r.Header; {
	case h.Type == wire.Put && (portal == selftestwire.TestPortal || portal == selftestwire.FrameworkPortal):
		is, err = s.request(r)
	case h.Type == wire.Put && portal == selftestwire.BulkPortal:
		is, err = s.toClient(r)
	case h.Type == wire.Get && portal == selftestwire.BulkPortal:
		is = s.fetch(r)
	case h.Type == wire.Reply:
		f, ok := s.fetches.get(sink{h.DestNID, h.Reply().DstMD})
		if !ok {
			return capture.Payload{}, false
		}
		is, err = f.data(r)
	default:
		return capture.Payload{}, false
	}
	return capture.Payload{Protocol: "selftest", Is: is, Err: err}, true
}

// selftestRequest is a request to a service.
type selftestRequest struct {
	selftestwire.Message
	dest    nid.NID   // node that the request was sent to
	at      time.Time // time of the request in the capture
	replied bool      // the capture has its reply
	remarks []string
}

// request parses a request and remembers it for its reply and bulk data.
func (s *selftests) request(r *capture.Record) (capture.Understood, error) {
	m, err := parseSelftest(r)
	if m == nil {
		return nil, err
	}
	q := &selftestRequest{Message: *m, dest: r.Header.DestNID, at: r.Time}
	put := r.Header.Put()
	service := selftestwire.Service(put.MatchBits)
	if want, ok := service.Request(); !ok || put.MatchBits>>32 != 0 || want != m.Type && err == nil {
		q.remarks = remark(q.remarks, "match bits %#x are for another service", put.MatchBits)
	} else if service.Portal() != put.Portal {
		q.remarks = remark(q.remarks, "requests for service %v belong to portal %d", service, service.Portal())
	}
	if err != nil {
		return q, err
	}
	q.judge()
	remember(s.requests, r.Header.SrcNID, r.Header.DestNID, q.ReplyID, q)
	if id, _, ok := q.bulk(); ok {
		remember(s.bulks, r.Header.SrcNID, r.Header.DestNID, id, q)
	}
	return q, nil
}

// parseSelftest parses the message in a record. It returns the message without a body if the
// version or the type is unknown, and nil with other errors.
func parseSelftest(r *capture.Record) (*selftestwire.Message, error) {
	if !whole(r) {
		return nil, capture.ErrPartOfPayload
	}
	m, err := selftestwire.ParseMessage(r.Payload)
	if err != nil && !errors.Is(err, selftestwire.ErrVersion) && !errors.Is(err, selftestwire.ErrType) {
		return nil, err
	}
	return &m, err
}

// bulk returns the match bits and the length of the bulk data that the request names, or false
// if it names none.
func (q *selftestRequest) bulk() (id, length uint64, ok bool) {
	switch b := q.Body.(type) {
	case *selftestwire.BRW:
		return b.BulkID, uint64(b.Length), true
	case *selftestwire.Test:
		return b.BulkID, uint64(b.Destinations) * selftestwire.DestinationSize, b.Client
	}
	return 0, 0, false
}

// name returns the type of the request and its number.
func (q *selftestRequest) name() string { return fmt.Sprintf("%v, rpc %#x", q.Type, q.ReplyID) }

// selftestReply is the reply to a request.
type selftestReply struct {
	selftestwire.Message
	id      uint64           // number of the RPC, which is in the match bits of the reply
	to      *selftestRequest // the request that is answered; nil: it is not in the capture
	after   time.Duration    // time from the request to the reply in the capture
	remarks []string
}

// toClient parses a PUT to the client of an RPC: its reply or its bulk data.
func (s *selftests) toClient(r *capture.Record) (capture.Understood, error) {
	at, peer, bits := r.Header.DestNID, r.Header.SrcNID, r.Header.Put().MatchBits
	if q, strange := find(s.bulks, at, peer, bits); q != nil {
		return bulkData(q, bits, strange, r)
	}
	q, strange := find(s.requests, at, peer, bits)
	m, err := parseSelftest(r)
	if q == nil && m == nil {
		return bulkData(nil, bits, false, r)
	}
	if m == nil {
		return nil, err
	}
	p := &selftestReply{Message: *m, id: bits, to: q}
	if q != nil {
		p.answer(r.Time, strange, err == nil)
	}
	return p, err
}

// answer relates the reply to its request.
func (p *selftestReply) answer(at time.Time, strange, known bool) {
	p.after = at.Sub(p.to.at)
	if strange {
		p.remarks = remark(p.remarks, "the request went to %v", p.to.dest)
	}
	if known && p.Type != p.to.Type.Reply() {
		p.remarks = remark(p.remarks, "the request was a %v", p.to.Type)
	}
	if p.to.replied {
		p.remarks = remark(p.remarks, "the request has a reply already")
	}
	p.to.replied = true
}
