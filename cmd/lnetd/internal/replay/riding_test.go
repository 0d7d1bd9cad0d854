package replay

import (
	"encoding/binary"

	"ulnet/lnd/capture"
	"ulnet/lnd/socklnd/ksock"
)

// takeAck handles a zero-copy ACK that the node has put into a message, while the recording has
// it in a NOOP, at event i or later on the same connection: a node that has a message to send may put the
// ACK into that message (lnet-wire §8.2). takeAck returns the message without the ACK, and the player
// does not wait for the NOOP any more.
func (p *Player) takeAck(i int, got *capture.Record) *capture.Record {
	if got.Kind != capture.Message || !got.Framed || got.Ksock.Cookies[1] == 0 {
		return got
	}
	cookie, at := got.Ksock.Cookies[1], p.events[i]
	for j := i; j < len(p.events); j++ {
		e := p.events[j]
		if e.Conn != at.Conn || e.From != at.From || e.Record == nil || p.early[j] {
			continue
		}
		if e.Record.Kind == capture.Message && e.Record.Ksock.Cookies[1] == cookie {
			return got // the recorded node put this ACK into a message, too
		}
		if e.Record.Kind == capture.Noop && e.Record.Ksock.Cookies == ksock.NewNoop(cookie).Cookies {
			p.early[j] = true
			return withoutAck(got)
		}
	}
	return got
}

// withoutAck returns a copy of a message without the zero-copy ACK in it.
func withoutAck(r *capture.Record) *capture.Record {
	s := r.Clone()
	s.Ksock.Cookies[1] = 0
	good := s.Ksock.Checksum != 0 && hasGoodChecksum(r)
	b, err := s.AppendBinary(nil)
	if err != nil { // cannot happen: the message was parsed from bytes
		return r
	}
	if good {
		s.Ksock.Checksum = ksock.Checksum(s.Ksock, b[ksock.MsgHeaderSize:])
		binary.LittleEndian.PutUint32(b[4:], s.Ksock.Checksum)
	}
	s.Raw = b
	return s
}

// following returns the next event after i that is a record of the same node on the same connection, without those
// that were received before their turn. It returns i if there is none.
func (p *Player) following(i int) int {
	for j := i + 1; j < len(p.events); j++ {
		if e := p.events[j]; e.Conn == p.events[i].Conn && e.From == p.events[i].From && e.Record != nil && !p.early[j] {
			return j
		}
	}
	return i
}
