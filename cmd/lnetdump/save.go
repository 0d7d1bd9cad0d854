package main

import (
	"errors"
	"io"
	"runtime"
	"slices"

	"github.com/google/gopacket"
	"github.com/google/gopacket/layers"
	"github.com/google/gopacket/pcapgo"

	"ulnet/cmd/internal/capturefile"
	"ulnet/lnd/capture"
)

// saver writes packets as pcapng, with one interface for each link type. If possible it writes only one interface,
// because libpcap, and so tcpdump, cannot read a file with several link types.
type saver struct {
	file  io.Closer // the file; nil: the packets go to standard output
	out   io.Writer
	ng    *pcapgo.NgWriter
	links map[capture.LinkType]int
}

func newSaver(name string, stdout io.Writer) (*saver, error) {
	s := &saver{out: stdout, links: map[capture.LinkType]int{}}
	if name != "-" {
		f, err := capturefile.Create(name, 1)
		if err != nil {
			return nil, err
		}
		s.file, s.out = f, f
	}
	return s, nil
}

// begin writes the beginning of the file before there is a packet, for a program that waits for it. All packets
// must begin with IP then.
func (s *saver) begin() error {
	if _, err := s.index(capture.LinkRaw); err != nil {
		return err
	}
	return s.ng.Flush()
}

// packet writes p.
func (s *saver) packet(p capture.Packet) error {
	if p.Link == capture.LinkLinuxSLL2 {
		p = convert(p)
	}
	index, err := s.index(p.Link)
	if err != nil {
		return err
	}
	return s.ng.WritePacket(gopacket.CaptureInfo{
		Timestamp: p.Time, CaptureLength: len(p.Data), Length: max(p.Length, len(p.Data)), InterfaceIndex: index,
	}, p.Data)
}

// convert replaces an SLL2 header by an Ethernet header with the same protocol, because gopacket cannot write the
// link type SLL2.
func convert(p capture.Packet) capture.Packet {
	const header, ethernet = 20, 14
	protocol, rest := p.Data[:2], p.Data[header:]
	p.Link, p.Data, p.Length = capture.LinkEthernet, slices.Concat(make([]byte, ethernet-2), protocol, rest), p.Length-header+ethernet
	return p
}

// index returns the number of the interface for a link type.
func (s *saver) index(link capture.LinkType) (int, error) {
	if index, ok := s.links[link]; ok {
		return index, nil
	}
	i := pcapgo.NgInterface{LinkType: layers.LinkType(link), TimestampResolution: 9}
	index := 0
	var err error
	if s.ng == nil {
		s.ng, err = pcapgo.NewNgWriterInterface(s.out, i, pcapgo.NgWriterOptions{SectionInfo: pcapgo.NgSectionInfo{
			Hardware: runtime.GOARCH, OS: runtime.GOOS, Application: "lnetdump",
		}})
	} else {
		index, err = s.ng.AddInterface(i)
	}
	s.links[link] = index
	return index, err
}

// close completes the file. Without packets it is a valid, empty capture.
func (s *saver) close() error {
	var err error
	if s.ng == nil {
		err = s.begin()
	}
	if s.ng != nil {
		err = errors.Join(err, s.ng.Flush())
	}
	if s.file != nil {
		err = errors.Join(err, s.file.Close())
	}
	return err
}
