package capture_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"

	"ulnet/lnd/capture"
)

// What a capture of two kernel nodes shows.
func Example() {
	file, err := os.Open("testdata/tcp-ping.pcap")
	if err != nil {
		log.Fatal(err)
	}
	defer file.Close()
	packets, err := capture.NewReader(file)
	if err != nil {
		log.Fatal(err)
	}
	dissector := capture.NewDissector(capture.Options{}, func(r *capture.Record) {
		if info, ok := r.PingInfo(); ok {
			fmt.Println(r.Type(), "from", r.Header.SrcNID, "with", len(info.NIs), "NIs")
		}
	})
	for {
		p, err := packets.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			log.Fatal(err)
		}
		dissector.Packet(p.Time, p.Link, p.Data)
	}
	dissector.Close()
	// Output:
	// REPLY from 10.77.0.11@tcp with 1 NIs
	// REPLY from 10.77.0.10@tcp with 1 NIs
}
