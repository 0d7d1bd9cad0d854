package capture_test

import (
	"bytes"
	"io"
	"os"
	"testing"
	"time"

	"ulnet/lnd"
	"ulnet/lnd/capture"
)

// BenchmarkDissectSmall measures the dissection of a capture of two pings, including the
// setup of the Dissector.
func BenchmarkDissectSmall(b *testing.B) {
	file, err := os.ReadFile("testdata/tcp-ping.pcap")
	if err != nil {
		b.Fatal(err)
	}
	packets := readPackets(b, bytes.NewReader(file))
	b.ReportAllocs()
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		d := capture.NewDissector(capture.Options{}, func(*capture.Record) {})
		for _, p := range packets {
			d.Packet(p.Time, p.Link, p.Data)
		}
		d.Close()
	}
}

// BenchmarkDissectBulk measures the dissection of PUTs of 1 MiB.
func BenchmarkDissectBulk(b *testing.B) {
	packets := bulk(b)
	b.ReportAllocs()
	b.SetBytes(2 << 20)
	for b.Loop() {
		d := capture.NewDissector(capture.Options{}, func(*capture.Record) {})
		for _, p := range packets {
			d.Packet(p.Time, p.Link, p.Data)
		}
		d.Close()
	}
}

// BenchmarkDissectFrames measures the dissection of PUTs of 1 MiB in Ethernet frames of 1514 bytes,
// with the reading of the file.
func BenchmarkDissectFrames(b *testing.B) {
	file := frames(bulkStream(16))
	b.ReportAllocs()
	b.SetBytes(int64(len(file)))
	for b.Loop() {
		messages := 0
		d := capture.NewDissector(capture.Options{KeepPayload: 256}, func(r *capture.Record) {
			if r.Kind == capture.Message {
				messages++
			}
		})
		r, err := capture.NewReader(bytes.NewReader(file))
		for err == nil {
			var p capture.Packet
			if p, err = r.Next(); err == nil {
				d.Packet(p.Time, p.Link, p.Data)
			}
		}
		d.Close()
		if err != io.EOF || messages != 16 {
			b.Fatal(messages, err)
		}
	}
}

// BenchmarkTap measures what capturing costs a driver for each 4 KiB: with a Writer that has neither file
// nor viewer, and with one that writes a file.
func BenchmarkTap(b *testing.B) {
	discard := countWriter(0)
	for name, file := range map[string]*countWriter{"idle": nil, "file": &discard} {
		b.Run(name, func(b *testing.B) {
			w, err := capture.NewWriter(nil, time.Now)
			if file != nil {
				w, err = capture.NewWriter(file, time.Now)
			}
			if err != nil {
				b.Fatal(err)
			}
			flows := taps(w, 1, true)
			play([]lnd.Flow{flows[0]}, bulkRuns(0)[:2], capture.Initiator)
			run := make([]byte, 4096)
			b.ReportAllocs()
			b.SetBytes(int64(len(run)))
			for b.Loop() {
				flows[0].Sent(run)
			}
		})
	}
}

type countWriter int

func (c *countWriter) Write(b []byte) (int, error) {
	*c += countWriter(len(b))
	return len(b), nil
}
