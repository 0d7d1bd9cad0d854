package capture

import (
	"bufio"
	"encoding/binary"
	"io"
	"runtime"
	"time"
)

// ngWriter writes pcapng (draft-ietf-opsawg-pcapng) with one interface, whose packets begin with IP,
// and times in nanoseconds.
type ngWriter struct {
	out *bufio.Writer
	buf []byte // memory for the head of a block
}

// Types of blocks, and codes of options; the name of a code begins with the block that it belongs to.
const (
	blockSection    = 0x0A0D0D0A
	blockInterface  = 1
	blockStatistics = 5
	blockPacket     = 6

	sectionHardware, sectionOS, sectionApplication          = 2, 3, 4
	interfaceName, interfaceDescription, interfaceTimestamp = 2, 3, 9
	statisticsReceived, statisticsDropped                   = 4, 5
)

// newNgWriter returns a writer for a file that begins here. The first flush writes the file's header
// blocks to out.
func newNgWriter(out io.Writer) *ngWriter {
	w := &ngWriter{out: bufio.NewWriter(out)}
	const magic, major, minor = 0x1A2B3C4D, 1, 0
	b := binary.LittleEndian.AppendUint32(nil, magic)
	b = binary.LittleEndian.AppendUint16(b, major)
	b = binary.LittleEndian.AppendUint16(b, minor)
	b = binary.LittleEndian.AppendUint64(b, 1<<64-1) // the length of the section is not known
	b = ngOption(b, sectionApplication, []byte("ulnet"))
	b = ngOption(b, sectionHardware, []byte(runtime.GOARCH))
	w.block(blockSection, ngOption(ngOption(b, sectionOS, []byte(runtime.GOOS)), 0, nil))
	b = binary.LittleEndian.AppendUint16(nil, uint16(LinkRaw))
	b = binary.LittleEndian.AppendUint16(b, 0)
	b = binary.LittleEndian.AppendUint32(b, 0) // no limit to the length of packets
	b = ngOption(b, interfaceName, []byte("lnet"))
	b = ngOption(b, interfaceDescription, []byte("LNet connections, shown as TCP to port 988, and RoCEv2"))
	w.block(blockInterface, ngOption(ngOption(b, interfaceTimestamp, []byte{9}), 0, nil))
	return w
}

// packet writes a packet that was captured whole.
func (w *ngWriter) packet(at time.Time, data []byte) error {
	padding := -len(data) & 3
	size := uint32(32 + len(data) + padding)
	b := binary.LittleEndian.AppendUint32(w.buf[:0], blockPacket)
	b = binary.LittleEndian.AppendUint32(b, size)
	b = ngTime(binary.LittleEndian.AppendUint32(b, 0), at)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	b = binary.LittleEndian.AppendUint32(b, uint32(len(data)))
	w.buf = b
	_, _ = w.out.Write(b) // a bufio.Writer keeps its first error, which Flush returns
	_, _ = w.out.Write(data)
	_, err := w.out.Write(binary.LittleEndian.AppendUint32(make([]byte, padding, 8), size))
	return err
}

// statistics writes how many packets there were, dropped ones included, and how many were dropped.
func (w *ngWriter) statistics(at time.Time, received, dropped uint64) {
	b := ngTime(binary.LittleEndian.AppendUint32(nil, 0), at)
	b = ngOption(b, statisticsDropped, binary.LittleEndian.AppendUint64(nil, dropped))
	b = ngOption(b, statisticsReceived, binary.LittleEndian.AppendUint64(nil, received))
	w.block(blockStatistics, ngOption(b, 0, nil))
}

func (w *ngWriter) flush() error { return w.out.Flush() }

// block writes a block with a body whose size is a multiple of 4.
func (w *ngWriter) block(typ uint32, body []byte) {
	size := uint32(12 + len(body))
	b := binary.LittleEndian.AppendUint32(nil, typ)
	b = append(binary.LittleEndian.AppendUint32(b, size), body...)
	_, _ = w.out.Write(binary.LittleEndian.AppendUint32(b, size)) // a bufio.Writer keeps its first error, which Flush returns
}

// ngOption appends an option; code 0 ends a list.
func ngOption(b []byte, code uint16, value []byte) []byte {
	b = binary.LittleEndian.AppendUint16(b, code)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(value)))
	return append(append(b, value...), make([]byte, -len(value)&3)...)
}

// ngTime appends an instant, the higher half first.
func ngTime(b []byte, at time.Time) []byte {
	ns := uint64(at.UnixNano())
	b = binary.LittleEndian.AppendUint32(b, uint32(ns>>32))
	return binary.LittleEndian.AppendUint32(b, uint32(ns))
}
