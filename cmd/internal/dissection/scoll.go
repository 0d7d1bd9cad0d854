package dissection

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"ulnet/lnd/capture"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
	"ulnet/scoll"
	scollwire "ulnet/scoll/wire"
)

// Bounds of what is remembered for a source.
const (
	rememberedRequests = 1 << 15
	rememberedLists    = 64
)

// collectives is the dissector of collectives. Some facts are only in earlier messages: the rank
// of a node, the request that a reply answers, and the data that a GET fetches. collectives
// remembers these facts, if the capture has the messages.
type collectives struct {
	lists    *bounded[scollwire.Digest, *scoll.Membership]
	requests *bounded[matched, *collectiveRequest] // requests, by the match entry for their reply
	exposed  *bounded[matched, *exposure]
	fetches  *bounded[sink, *collectiveFetch]
	assumed  *scoll.Membership // members of groups whose lists are not in the capture; nil: unknown
}

// matched identifies a match entry that a node has posted for a peer; the zero peer stands for
// any peer.
type matched struct {
	at, peer nid.NID
	bits     uint64
}

// remember records v for the match entry that a node has posted for a peer.
func remember[V any](b *bounded[matched, V], at, peer nid.NID, bits uint64, v V) {
	b.put(matched{at, peer, bits}, v)
	b.put(matched{at: at, bits: bits}, v)
}

// find returns the value that remember has recorded for the match entry of a message. The result
// odd is true if that entry was posted for another peer.
func find[V any](b *bounded[matched, V], at, peer nid.NID, bits uint64) (v V, odd bool) {
	if v, ok := b.get(matched{at, peer, bits}); ok {
		return v, false
	}
	return b.get(matched{at: at, bits: bits})
}

// requestOf finds the request to which a message refers. If that request was sent to another
// peer, it adds a remark. It returns nil if the request is not in the capture.
func (c *collectives) requestOf(at, peer nid.NID, bits uint64) (q *collectiveRequest, remarks []string) {
	q, strange := find(c.requests, at, peer, bits)
	if q != nil && strange {
		remarks = remark(nil, "the request went to %v", q.dest)
	}
	return q, remarks
}

// exposure is data that the sender of a request exposes for a GET.
type exposure struct {
	of   *collectiveRequest
	list bool // true: the data is a list of members; false: bulk data
	scollwire.RMA
}

// sink is the MD that receives the REPLY to a GET.
type sink struct {
	at nid.NID
	md wire.MDHandle
}

func newCollectives(assumed *scoll.Membership) *collectives {
	return &collectives{
		lists:    newBounded[scollwire.Digest, *scoll.Membership](rememberedLists),
		requests: newBounded[matched, *collectiveRequest](rememberedRequests),
		exposed:  newBounded[matched, *exposure](rememberedRequests),
		fetches:  newBounded[sink, *collectiveFetch](rememberedRequests),
		assumed:  assumed,
	}
}

// read parses a message, or returns false if it is not one of collectives.
func (c *collectives) read(r *capture.Record) (capture.Payload, bool) {
	if r.Kind != capture.Message {
		return capture.Payload{}, false
	}
	is, err := capture.Understood(nil), error(nil)
	portal, _ := r.Portal()
	switch h := &r.Header; {
	case h.Type == wire.Put && portal == scollwire.RequestPortal:
		is, err = c.request(r)
	case h.Type == wire.Put && portal == scollwire.ReplyPortal:
		is, err = c.reply(r)
	case h.Type == wire.Get && portal == scollwire.BulkPortal:
		is = c.fetch(r)
	case h.Type == wire.Reply:
		f, ok := c.fetches.get(sink{h.DestNID, h.Reply().DstMD})
		if !ok {
			return capture.Payload{}, false
		}
		is, err = c.data(r, f)
	default:
		return capture.Payload{}, false
	}
	return capture.Payload{Protocol: "scoll", Is: is, Err: err}, true
}

// whole reports whether the capture has the whole payload of a record.
func whole(r *capture.Record) bool {
	return r.Missing == 0 && uint64(len(r.Payload)) == uint64(r.Header.PayloadLength)
}

// hop is the edge of the tree over which a message was sent.
type hop struct {
	from, to int // ranks of sender and receiver, -1 if the list of members is unknown
	level    int // level of the lower one of the two nodes; the root has level 0
}

func (h hop) known() bool { return h.from >= 0 && h.to >= 0 }

// String returns "rank 0 → 4 (level 1)", or that the ranks are not known.
func (h hop) String() string {
	if !h.known() {
		return "ranks unknown"
	}
	return fmt.Sprintf("rank %d → %d (level %d)", h.from, h.to, h.level)
}

// snippet is the beginning of some data.
type snippet struct {
	head   []byte
	length uint64 // length of the whole data in bytes
}

// snippetSize is how many bytes of data are shown.
const snippetSize = 32

func snippetOf(b []byte, length uint64) snippet {
	return snippet{append([]byte(nil), b[:min(len(b), snippetSize)]...), length}
}

// text returns the data as text, or false if the data contains characters that cannot be
// printed.
func (s snippet) text() (string, bool) {
	b := s.head
	if uint64(len(b)) < s.length { // the text is cut off, so its last character may be incomplete
		for i := 0; i < utf8.UTFMax && len(b) > 0 && !utf8.Valid(b); i++ {
			b = b[:len(b)-1]
		}
	}
	for text := string(b); ; {
		c, size := utf8.DecodeRuneInString(text)
		switch {
		case size == 0:
			return string(b), len(b) > 0
		case c == utf8.RuneError && size == 1, !unicode.IsPrint(c) && c != '\n' && c != '\t':
			return "", false
		}
		text = text[size:]
	}
}

// String returns the length and the data as text or in hexadecimal.
func (s snippet) String() string {
	if s.length == 0 {
		return "0 bytes"
	}
	out := fmt.Sprintf("%d bytes", s.length)
	if text, ok := s.text(); ok {
		out += fmt.Sprintf(" %q", text)
	} else if len(s.head) > 0 {
		out += fmt.Sprintf(" % x", s.head)
	}
	if uint64(len(s.head)) < s.length {
		out += " …"
	}
	return out
}

// entry returns the snippet as JSON, or nil if the data is empty. It has the total length, the
// head as hexadecimal digits and, if it can be printed, the head as text.
func (s snippet) entry() (o object) {
	if s.length == 0 {
		return nil
	}
	text, _ := s.text()
	o.put("length", s.length)
	o.some("text", text)
	o.put("hex", fmt.Sprintf("%x", s.head))
	return o
}
