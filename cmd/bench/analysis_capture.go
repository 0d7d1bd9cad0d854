package main

import (
	"bufio"
	"encoding/binary"
	"os"
	"slices"

	"ulnet/lnd/socklnd/ksock"
	"ulnet/lnet/nid"
	"ulnet/lnet/wire"
)

// writeBulkCapture writes a pcap file of a socklnd connection with PUTs of 1 MiB and their ACKs, in
// TCP segments of the given size, and returns its size in bytes.
func writeBulkCapture(path string, messages, segment int) (size int64) {
	f := must(os.Create(path))
	defer f.Close()
	c := &bulkCapture{w: bufio.NewWriterSize(f, 1<<20), segment: segment}
	c.fileHeader()
	c.handshake()
	body := make([]byte, bulk)
	for n := range messages {
		c.message(0, wire.Put, uint64(n), body)
		c.message(1, wire.Ack, uint64(n), nil)
	}
	succeed(c.w.Flush())
	succeed(f.Close())
	return c.size
}

// bulkCapture is a capture that is being written. Side 0 is the node that opens the connection.
type bulkCapture struct {
	w       *bufio.Writer
	segment int
	seq     [2]uint32
	frames  uint32
	size    int64
}

var bulkNIDs = [2]nid.NID{nid.MustParse("10.0.0.1@tcp"), nid.MustParse("10.0.0.2@tcp")}

func (c *bulkCapture) write(b []byte) { c.size += int64(must(c.w.Write(b))) }

func (c *bulkCapture) fileHeader() {
	b := binary.LittleEndian.AppendUint32(nil, 0xa1b2c3d4)
	b = append(b, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	b = binary.LittleEndian.AppendUint32(b, 1<<18)
	c.write(binary.LittleEndian.AppendUint32(b, 1)) // type of the link: Ethernet
}

// Flags of TCP.
const (
	tcpSYN = 0x02
	tcpACK = 0x10
)

// frame writes a TCP segment of a side in an Ethernet frame.
func (c *bulkCapture) frame(side int, flags byte, data []byte) {
	c.frames++
	b := binary.LittleEndian.AppendUint32(nil, 1_800_000_000+c.frames/100_000)
	b = binary.LittleEndian.AppendUint32(b, c.frames%100_000*10) // time stamps differ by 10 microseconds from packet to packet
	length := uint32(14 + 20 + 32 + len(data))
	b = binary.LittleEndian.AppendUint32(b, length)
	b = binary.LittleEndian.AppendUint32(b, length)
	b = append(b, make([]byte, 12)...)
	b = append(b, 8, 0, 0x45, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(length-14))
	b = append(b, 0, 0, 0x40, 0, 64, 6, 0, 0)
	ends, ports := [2][]byte{{10, 0, 0, 1}, {10, 0, 0, 2}}, [2]uint16{1023, 988}
	b = append(append(b, ends[side]...), ends[1-side]...)
	b = binary.BigEndian.AppendUint16(b, ports[side])
	b = binary.BigEndian.AppendUint16(b, ports[1-side])
	b = binary.BigEndian.AppendUint32(b, c.seq[side])
	b = binary.BigEndian.AppendUint32(b, c.seq[1-side])
	b = append(b, 8<<4, flags, 0xff, 0xff, 0, 0, 0, 0, 1, 1, 8, 10, 0, 0, 0, 0, 0, 0, 0, 0) // the rest of the TCP header, with the option for time stamps
	c.write(b)
	c.write(data)
	c.seq[side] += uint32(len(data))
}

// send writes what a side sends, in segments.
func (c *bulkCapture) send(side int, parts ...[]byte) {
	all := slices.Concat(parts...)
	for run := range slices.Chunk(all, c.segment) {
		c.frame(side, tcpACK, run)
	}
}

// handshake writes how the connection begins.
func (c *bulkCapture) handshake() {
	c.frame(0, tcpSYN, nil)
	c.frame(1, tcpSYN|tcpACK, nil)
	c.seq = [2]uint32{1, 1}
	c.send(0, must(wire.AcceptorRequest{Version: 1, NID: bulkNIDs[1]}.AppendBinary(nil)))
	for side, typ := range []ksock.ConnType{ksock.BulkOut, ksock.BulkIn} {
		hello := ksock.Hello{
			Version: ksock.V3, SrcNID: bulkNIDs[side], DstNID: bulkNIDs[1-side],
			SrcPID: nid.LustrePID, DstPID: nid.LustrePID, SrcIncarnation: 7, ConnType: typ,
		}
		c.send(side, must(hello.AppendBinary(nil)))
	}
}

// message writes a PUT or its ACK.
func (c *bulkCapture) message(side int, typ wire.MsgType, n uint64, body []byte) {
	h := wire.Header{
		SrcNID: bulkNIDs[side], DestNID: bulkNIDs[1-side], SrcPID: nid.LustrePID, DestPID: nid.LustrePID, PayloadLength: uint32(len(body)),
	}
	handle := wire.MDHandle{Interface: 7, Object: n}
	if typ == wire.Put {
		h.SetPut(wire.PutCmd{AckMD: handle, MatchBits: n, Portal: 40})
	} else {
		h.SetAck(wire.AckCmd{DstMD: handle, MatchBits: n, MLength: bulk})
	}
	c.send(side, must(ksock.MsgHeader{Type: ksock.LNet}.AppendBinary(nil)), must(h.AppendBinary(nil)), body)
}
