package socklnd

import (
	"ulnet/lnd"
	"ulnet/lnd/socklnd/ksock"
)

// fitness says how well a connection suits a message: the results SOCKNAL_MATCH_NO, MAY and YES of
// the match functions in Lustre's socklnd.
type fitness uint8

const (
	fitsNot fitness = iota
	fitsAtNeed
	fits
)

// fitnessFor returns the fitness of a connection for an LNet message that is small (below min_bulk
// with all headers) or not. A receiver takes any message on any connection; this is the sender's
// rule. From version 3 on no LNet message is sent on an ANY connection, and none but priority
// messages on a BULK_IN connection (see bulkIn).
func fitnessFor(v ksock.Version, t ksock.ConnType, small bool) fitness {
	typedOnly := v >= ksock.V3
	switch {
	case t == ksock.Any && typedOnly, t == ksock.BulkIn && typedOnly:
		return fitsNot
	case t == ksock.Any:
		return fits
	case t == ksock.Control && small, t == ksock.BulkOut && !small:
		return fits
	}
	return fitsAtNeed
}

// carriesLNet reports whether LNet messages may be sent on a connection of this version and type.
func carriesLNet(v ksock.Version, t ksock.ConnType) bool {
	return fitnessFor(v, t, true) != fitsNot
}

// routes are the connections of a peer, sorted by the kinds of messages that they may carry. They
// are kept ready, because every message needs a connection and connections change rarely.
type routes struct {
	small  []*conn // connections for messages smaller than min_bulk
	large  []*conn
	urgent []*conn // for priority messages: one BULK_IN if there is any, so that these messages keep their order
	acks   []*conn // connections for NOOPs; empty only without any connections

	overhead int // bytes of headers of each message
}

// newRoutes returns the routes over conns, of which there is at least one, all of one
// version.
func newRoutes(conns []*conn) routes {
	r := routes{small: fittest(conns, true), large: fittest(conns, false), overhead: conns[0].framing.overhead()}
	r.acks, r.urgent = r.small, r.small
	if conns[0].version >= ksock.V3 {
		in := bulkIn(conns)
		r.acks, r.urgent = first(in, conns), first(in[:min(len(in), 1)], r.small)
	}
	return r
}

// first returns the first list that is not empty.
func first(lists ...[]*conn) []*conn {
	for _, l := range lists {
		if len(l) > 0 {
			return l
		}
	}
	return nil
}

// fittest returns the connections that suit small or large messages best; none if no connection
// may carry these.
func fittest(conns []*conn, small bool) []*conn {
	var best []*conn
	most := fitsAtNeed
	for _, c := range conns {
		f := fitnessFor(c.version, c.ctype, small)
		switch {
		case f > most:
			best, most = []*conn{c}, f
		case f == most:
			best = append(best, c)
		}
	}
	return best
}

// bulkIn returns the BULK_IN connections. From version 3 on they carry only acks and
// keepalives, and here also priority messages. So a peer that stops reading its other
// connections, because a handler there is slow, still reads these.
func bulkIn(conns []*conn) (list []*conn) {
	for _, c := range conns {
		if c.ctype == ksock.BulkIn {
			list = append(list, c)
		}
	}
	return list
}

// forMessage chooses the connection for m; nil: no connection may carry it.
func (r *routes) forMessage(m *lnd.Message, minBulk int) *conn {
	if m.Priority {
		return leastBusy(r.urgent)
	}
	return r.forSize(int(m.Header.PayloadLength), minBulk, m.Flow)
}

// forSize chooses the connection for a message without priority by the length of its payload and
// its flow; nil: no connection may carry it.
func (r *routes) forSize(length, minBulk int, flow uint64) *conn {
	if r.isSmall(length, minBulk) {
		return leastBusy(r.small)
	}
	if c := ofFlow(r.large, flow); c != nil {
		return c
	}
	return leastBusy(r.large)
}

// isSmall reports whether a message with a payload of that length leaves on the connections for small ones.
func (r *routes) isSmall(length, minBulk int) bool { return r.overhead+length < minBulk }

// inlineFlow is the flow of all inline messages: they are small, so one connection takes them.
const inlineFlow = 1

// ofFlow returns the connection of a flow; nil if that connection has bytes to send. Local policy:
// kernels take the connection that was used the longest ago.
func ofFlow(conns []*conn, flow uint64) *conn {
	if flow == 0 || len(conns) < 2 {
		return nil
	}
	c := conns[flow*0x9e3779b97f4a7c15>>32%uint64(len(conns))] // Fibonacci hashing
	if c.tx.queuedBytes() > 0 {
		return nil
	}
	return c
}

// leastBusy returns the connection with the fewest bytes to send; of several such connections the
// one that was used the longest ago (round_robin).
func leastBusy(conns []*conn) *conn {
	if len(conns) == 0 {
		return nil
	}
	best := conns[0]
	if len(conns) == 1 {
		return best
	}
	fewest := best.tx.queuedBytes()
	for _, c := range conns[1:] {
		n := c.tx.queuedBytes()
		if n < fewest || n == fewest && c.usedAt < best.usedAt {
			best, fewest = c, n
		}
	}
	return best
}
