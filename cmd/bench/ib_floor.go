package main

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"ulnet/lnd/verbs/ibta"
)

// This is the lower bound for o2iblnd over softroce: a plain Go program that moves the same
// payload in the same packets, with BTH and ICRC, over UDP sockets with segmentation offload
// (GSO, GRO) and copies it once at each side. Its connections have a window and cumulative ACKs,
// but no retransmission: a loss ends the measurement.
const (
	floorMTU      = 4096
	floorPacket   = ibta.BTHSize + floorMTU + ibta.ICRCSize
	floorBurst    = 15 // packets per system call, which carries at most 64 KiB of UDP
	floorBursts   = 4  // bursts that are built before the first of them is sent, so that the receiver wakes up only once
	floorPatience = time.Minute

	floorEcho ibta.QPN = 2 // queue pair whose packets are sent back
	floorSink ibta.QPN = 3 // queue pair whose packets are copied to memory, and acknowledged on request
)

// floorEnd is one side of the plain connection.
type floorEnd struct {
	socket floorSocket
	frame  []byte // datagrams that the next system call sends
	memory []byte // source or destination of the payload data
	window int    // largest number of unacknowledged packets
	psn    ibta.PSN
}

func newFloorEnd(local netip.Addr) *floorEnd {
	e := &floorEnd{memory: make([]byte, bulk), frame: make([]byte, 0, floorBursts*floorBurst*floorPacket)}
	e.socket.open(netip.AddrPortFrom(local, 0))
	e.window = max(floorBursts*floorBurst, min(e.socket.receiveBuffer/(2*floorPacket), 2*bulk/floorMTU))
	return e
}

func (e *floorEnd) close() { _ = e.socket.conn.Close() } // an error makes no difference after the measurement

// add appends a packet to the frame.
func (e *floorEnd) add(h ibta.BTH, payload []byte) {
	from := len(e.frame)
	h.PKey, h.Migrated = ibta.DefaultPKey, true
	e.frame = append(h.AppendTo(e.frame), payload...)
	icrc := e.socket.out.ICRC(uint16(from/floorPacket%floorBurst), e.frame[from:])
	e.frame = binary.LittleEndian.AppendUint32(e.frame, icrc)
}

// flush sends the frame.
func (e *floorEnd) flush() error {
	for rest := e.frame; len(rest) > 0; {
		n := min(len(rest), floorBurst*floorPacket)
		if err := e.socket.send(rest[:n], floorPacket); err != nil {
			return err
		}
		rest = rest[n:]
	}
	e.frame = e.frame[:0]
	return nil
}

// serve answers the packets of one peer until the socket is closed.
func (e *floorEnd) serve() {
	for {
		batch, err := e.socket.receive()
		if err != nil {
			return
		}
		for batch.next() {
			if e.answer(&batch.header, batch.payload) != nil {
				return
			}
		}
	}
}

func (e *floorEnd) answer(h *ibta.BTH, payload []byte) error {
	if h.DestQP == floorEcho {
		e.add(ibta.BTH{OpCode: ibta.SendOnly, DestQP: floorEcho, PSN: h.PSN}, payload)
		return e.flush()
	}
	copy(e.memory[int(h.PSN)*floorMTU%bulk:], payload)
	if !h.AckReq {
		return nil
	}
	e.add(ibta.BTH{OpCode: ibta.Acknowledge, PSN: h.PSN}, []byte{byte(ibta.AckUnlimited), 0, 0, 0})
	return e.flush()
}

// roundTrips exchanges a packet of size bytes n times, and returns how long that took.
func (e *floorEnd) roundTrips(size, n int) (time.Duration, error) {
	if err := e.socket.conn.SetReadDeadline(time.Now().Add(floorPatience)); err != nil {
		return 0, err
	}
	began := time.Now()
	for range n {
		e.psn = e.psn.Add(1)
		e.add(ibta.BTH{OpCode: ibta.SendOnly, DestQP: floorEcho, PSN: e.psn}, e.memory[:size])
		if err := e.flush(); err != nil {
			return 0, err
		}
		for heard := e.psn.Add(-1); heard != e.psn; {
			if err := e.hear(&heard); err != nil {
				return 0, err
			}
		}
	}
	return time.Since(began), nil
}

// put sends 1 MiB n times, and waits for the ACK of the last packet.
func (e *floorEnd) put(n int) (time.Duration, error) {
	if err := e.socket.conn.SetReadDeadline(time.Now().Add(floorPatience)); err != nil {
		return 0, err
	}
	began := time.Now()
	acked, last := e.psn, e.psn.Add(n*bulk/floorMTU)
	for e.psn != last {
		packets := min(floorBursts*floorBurst, last.Sub(e.psn))
		for packets > e.window-e.psn.Sub(acked) {
			if err := e.hear(&acked); err != nil {
				return 0, err
			}
		}
		if err := e.send(packets); err != nil {
			return 0, err
		}
	}
	for acked != last {
		if err := e.hear(&acked); err != nil {
			return 0, err
		}
	}
	return time.Since(began), nil
}

// send sends the next packets and requests an ACK for the last.
func (e *floorEnd) send(packets int) error {
	for i := range packets {
		e.psn = e.psn.Add(1)
		h := ibta.BTH{OpCode: ibta.SendMiddle, DestQP: floorSink, PSN: e.psn, AckReq: i == packets-1}
		from := int(e.psn) * floorMTU % bulk
		e.add(h, e.memory[from:from+floorMTU])
	}
	return e.flush()
}

// hear receives ACKs, and sets last to the highest PSN that they acknowledge.
func (e *floorEnd) hear(last *ibta.PSN) error {
	batch, err := e.socket.receive()
	if err != nil {
		return fmt.Errorf("nothing came after PSN %d, which was lost or refused (the window is %d packets): %w", *last, e.window, err)
	}
	for batch.next() {
		if batch.header.PSN.Sub(*last) > 0 {
			*last = batch.header.PSN
		}
	}
	return nil
}
