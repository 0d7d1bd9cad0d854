// Package capturetest compares what this project sees in a capture with what
// others see in it.
package capturetest

import (
	"compress/gzip"
	"fmt"
	"io"
	"iter"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"ulnet/lnd/capture"
	"ulnet/lnd/lndtest/needs"
	"ulnet/lnet/nid"
)

// Message has the fields of a NOOP or an LNet message that both this project and tshark report.
type Message struct {
	Frame         uint64    // number of the packet that completes the message
	Type          string    // type of the message: NOOP, ACK, PUT, GET or REPLY
	Src, Dest     string    // NIDs of the sender and the receiver; empty for a NOOP
	Portal        string    // portal of a PUT or GET; empty for other types
	PayloadLength uint32    // length of the payload in bytes that the header gives
	Cookies       [2]uint64 // cookies of the ksock header
}

// AgreeWithTshark fails the test unless tshark and this project find the same messages in a capture, and at least one
// message. The connections in the capture must be of version 2 or 3 of socklnd's protocol. AgreeWithTshark skips the
// test if there is no tshark, except in CI, where that is a failure.
func AgreeWithTshark(t testing.TB, file string) {
	t.Helper()
	theirs := Tshark(t, file)
	ours := Messages(t, file)
	if len(ours) == 0 {
		t.Errorf("%s holds no message", file)
	}
	if diff := cmp.Diff(theirs, ours); diff != "" {
		t.Errorf("%s (-tshark +ours):\n%s", file, diff)
	}
}

// Messages returns the messages that this project finds in a capture.
func Messages(t testing.TB, file string) []Message {
	t.Helper()
	var list []Message
	Decode(t, file, func(r *capture.Record) {
		if r.Kind != capture.Noop && r.Kind != capture.Message {
			return
		}
		m := Message{Frame: r.Frame, Type: r.Type(), Cookies: r.Ksock.Cookies}
		if r.Kind == capture.Message {
			m.Src, m.Dest = r.Header.SrcNID.String(), r.Header.DestNID.String()
			m.PayloadLength = r.Header.PayloadLength
		}
		if portal, ok := r.Portal(); ok {
			m.Portal = strconv.Itoa(int(portal))
		}
		list = append(list, m)
	})
	return list
}

// Decode hands all Records of a capture to emit, with whole payloads. A file whose name ends in
// .gz is decompressed.
func Decode(t testing.TB, file string, emit func(*capture.Record)) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	plain := io.Reader(f)
	if strings.HasSuffix(file, ".gz") {
		if plain, err = gzip.NewReader(f); err != nil {
			t.Fatal(file, err)
		}
	}
	r, err := capture.NewReader(plain)
	if err != nil {
		t.Fatal(file, err)
	}
	d := capture.NewDissector(capture.Options{KeepPayload: 1 << 20}, emit)
	for {
		p, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(file, err)
		}
		d.Packet(p.Time, p.Link, p.Data)
	}
	d.Close()
}

// fields are the fields that tshark prints. It separates the values of one field in a packet by
// commas.
var fields = []string{
	"frame.number", "lnet.ksm_type", "lnet.ksm_zc_req_cookie", "lnet.ksm_zc_ack_cookie",
	"lnet.msg_type", "lnet.payload_length", "lnet.nid.addr", "lnet.nid.type", "lnet.nid.net_interface", "lnet.ptl_index",
}

// Tshark returns the messages that tshark finds in a capture. Like
// AgreeWithTshark it skips the test without tshark.
func Tshark(t testing.TB, file string) []Message {
	t.Helper()
	var list []Message
	for line := range tshark(t, file, "lnet.ksm_type", fields) {
		messages, err := parseLine(strings.TrimSuffix(line, "\n"))
		if err != nil {
			t.Fatalf("tshark printed %q: %v", line, err)
		}
		list = append(list, messages...)
	}
	return list
}

// tshark returns a line with some fields for each packet of a capture that passes a filter.
func tshark(t testing.TB, file, filter string, fields []string) iter.Seq[string] {
	t.Helper()
	args := []string{"-r", file, "-Y", filter, "-T", "fields"}
	for _, f := range fields {
		args = append(args, "-e", f)
	}
	out, err := exec.CommandContext(t.Context(), needs.Program(t, "tshark"), args...).Output()
	if err != nil {
		t.Fatal("tshark:", err)
	}
	return strings.Lines(string(out))
}

// packet has, for each field, the values of all messages in one packet. Parsing a message takes
// its values from the front.
type packet [][]string

// pop takes the next value of the field with the given index.
func (p packet) pop(field int) string {
	if len(p[field]) == 0 {
		return ""
	}
	v := p[field][0]
	p[field] = p[field][1:]
	return v
}

func parseLine(line string) ([]Message, error) {
	var p packet
	for v := range strings.SplitSeq(line, "\t") {
		p = append(p, strings.Split(v, ","))
	}
	if len(p) != len(fields) {
		return nil, fmt.Errorf("%d fields", len(p))
	}
	frame, err := strconv.ParseUint(p.pop(0), 10, 64)
	if err != nil {
		return nil, err
	}
	var list []Message
	for _, typ := range p[1] {
		m := Message{Frame: frame, Type: "NOOP"}
		for i := range m.Cookies {
			if m.Cookies[i], err = strconv.ParseUint(p.pop(2+i), 0, 64); err != nil {
				return nil, err
			}
		}
		if n, _ := strconv.ParseUint(typ, 0, 32); n == 0xC1 {
			if err := m.parse(p); err != nil {
				return nil, err
			}
		}
		list = append(list, m)
	}
	return list, nil
}

// parse takes the fields that an LNet message has and a NOOP lacks.
func (m *Message) parse(p packet) error {
	names := []string{"ACK", "PUT", "GET", "REPLY"}
	typ, err := strconv.ParseUint(p.pop(4), 0, 32)
	if err != nil || typ >= uint64(len(names)) {
		return fmt.Errorf("message type %d: %w", typ, err)
	}
	m.Type = names[typ]
	length, err := strconv.ParseUint(p.pop(5), 0, 32)
	if err != nil {
		return err
	}
	m.PayloadLength = uint32(length)
	for _, n := range []*string{&m.Dest, &m.Src} {
		addr, typ, num := p.pop(6), p.pop(7), p.pop(8)
		t, err := strconv.ParseUint(typ, 0, 8)
		if err != nil {
			return err
		}
		i, err := strconv.ParseUint(num, 0, 16)
		if err != nil {
			return err
		}
		*n = addr + "@" + nid.MakeNet(nid.NetType(t), uint16(i)).String()
	}
	if m.Type == "PUT" || m.Type == "GET" {
		m.Portal = p.pop(9)
	}
	return nil
}
