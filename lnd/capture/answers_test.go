package capture_test

import (
	"encoding/binary"
	"slices"
	"testing"
	"time"

	"ulnet/lnd/capture"
	"ulnet/lnd/capture/analyze"
	"ulnet/lnet/wire"
)

// TestAnswerOnAnotherConnection: if the capture lacks segments of a PUT, and the ACK of LNet comes on another connection of the same
// nodes, as with typed connections, the PUT is reported before its ACK.
func TestAnswerOnAnotherConnection(t *testing.T) {
	for name, missing := range map[string][]int{"one segment": {2}, "two segments": {1, 3}, "none": nil} {
		bulk, control := greetings(), greetings()
		md := wire.MDHandle{Object: 7}
		put := framed(func(h *wire.Header) {
			h.SetPut(wire.PutCmd{AckMD: md})
			h.PayloadLength = 504
		})
		put = append(put, make([]byte, 504)...)
		for i := range 6 {
			bulk.say(time.Second, capture.Initiator, ackFlag, put[i*100:(i+1)*100])
		}
		bulk.say(time.Second+50*time.Microsecond, capture.Acceptor, ackFlag, nil)
		control.say(time.Second+80*time.Microsecond, capture.Acceptor, ackFlag, framed(func(h *wire.Header) {
			h.SetAck(wire.AckCmd{DstMD: md, MLength: 504})
			h.SrcNID, h.DestNID = h.DestNID, h.SrcNID
		}))
		for _, i := range slices.Backward(missing) {
			bulk.list = slices.Delete(bulk.list, gets+i, gets+i+1)
		}
		var reported time.Duration
		var now time.Duration
		a := analyze.New(analyze.Config{})
		d := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
			if a.Record(r); r.Kind == capture.Message && r.Header.Type == wire.Put {
				reported = now
			}
		})
		send := func(p timed, port uint16) {
			frame := p.frame()
			at := 14 + 20
			if p.back {
				at += 2
			}
			binary.BigEndian.PutUint16(frame[at:], port)
			now = p.at
			d.Packet(time.Unix(1000, 0).Add(p.at), capture.LinkEthernet, frame)
		}
		for _, p := range control.list[:gets] {
			send(p, 1022)
		}
		for _, p := range bulk.list {
			send(p, 1023)
		}
		send(control.list[gets], 1022)
		if at := time.Second + 80*time.Microsecond; reported > at {
			t.Errorf("%s: reported at %v", name, reported)
		}
		d.Close()
		r := a.Report(time.Time{})
		if len(r.Kinds) != 1 || r.Unmatched != (analyze.Unmatched{}) || r.Kinds[0].Unanswered != 0 || r.Kinds[0].Answered != 1 {
			t.Errorf("%s: %+v, unmatched %+v", name, r.Kinds, r.Unmatched)
		}
	}
}

// TestResetBehindFIN: a side that has sent a FIN may answer data with a RST that has the sequence number of the FIN.
func TestResetBehindFIN(t *testing.T) {
	s := conversation(3)
	s.say(time.Second, capture.Initiator, ackFlag|finFlag, nil)
	s.say(time.Second, capture.Acceptor, ackFlag, nil)
	s.list[len(s.list)-1].ack++
	s.say(time.Second, capture.Initiator, rstFlag, nil)
	var cause error
	d := replay(s.list, func(r *capture.Record) {
		if r.Kind == capture.Closed {
			cause = r.Err
		}
	})
	if cause != capture.ErrReset || d.Counts().Outside != 0 {
		t.Errorf("%v, %+v", cause, d.Counts())
	}
}
