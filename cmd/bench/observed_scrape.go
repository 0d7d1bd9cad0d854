package main

import (
	"fmt"
	"io"
	"time"

	"ulnet/lnd/lndtest/loopback"
	"ulnet/lnd/socklnd/ksock"
)

// Parameters of goal G-OP-2.
const (
	scrapedPeers = 1000
	firstScrapes = 8                      // number of scrapes one right after the other, which is as many as the node answers with new values at once (answerBurst of package metrics)
	scrapePause  = 300 * time.Millisecond // time between two later scrapes, after which the node again answers with new values (answerInterval of package metrics)
	scrapeTime   = 20                     // bound of the time of a scrape, in ms
	scrapeSize   = 1                      // bound of the size of an answer, in MiB
)

// measureScrape measures goal G-OP-2: time and size of a scrape of a node with many connected peers.
func measureScrape(b *measurement) {
	socket, port := socketOf(b), must(loopback.FreePort(idleAddr))
	startObserved(b, idleAddr, port, socket)
	h := &idleNode{port: port}
	defer func() {
		for _, c := range h.conns {
			_ = c.Close()
		}
	}()
	peers := max(1, min(b.some(scrapedPeers), affordableConnections()/2)) // two file descriptors for each connection, because both ends are in this process
	for i := range peers {
		h.dial(i, ksock.Control)
	}
	o := newObserver(socket)
	var times []float64
	var size int64
	scrape := func() {
		began := time.Now()
		body := must(o.get(b.ctx, "/metrics"))
		size = must(io.Copy(io.Discard, body))
		succeed(body.Close())
		times = append(times, time.Since(began).Seconds()*1000)
	}
	for range min(b.rounds, firstScrapes) {
		scrape()
	}
	first := median(times)
	times = nil
	for range 2 * b.rounds {
		time.Sleep(scrapePause)
		scrape()
	}
	basis := fmt.Sprintf("%d connected peers", peers)
	b.add(
		line{what: "scrape of a node with many peers", ratio: median(times), unit: "ms", limit: scrapeTime, basis: basis},
		line{what: "each of the first scrapes, without pauses, while the process gets its memory", ratio: first, unit: "ms", free: true, basis: basis},
		line{what: "answer to it, without compression", ratio: float64(size) / (1 << 20), unit: "MiB", limit: scrapeSize, basis: basis},
	)
}
