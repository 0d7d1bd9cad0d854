package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"time"

	"ulnet/scoll/tree"
)

// rawMember is a member of a tree of plain TCP connections, with blocking calls in one
// goroutine. It reads a broadcast from its parent and writes it to its children. Then it reads
// a sum from each child, and writes the total to its parent. A broadcast begins with its length
// in 8 bytes.
type rawMember struct {
	listener net.Listener
	parent   net.Conn // connection to the parent; nil at the root
	children []net.Conn
	frame    []byte
	sum      [8]byte
}

// addr returns the address of the listener.
func (m *rawMember) addr() netip.AddrPort { return m.listener.Addr().(*net.TCPAddr).AddrPort() }

// connect connects a member to its parent, and waits until its children have connected, each of
// which sends its rank.
func (m *rawMember) connect(t tree.Tree, rank int, addrs []netip.AddrPort) {
	var sum [8]byte
	if parent, ok := t.Parent(rank); ok {
		m.parent = must(net.DialTimeout("tcp", addrs[parent].String(), collectiveTimeout))
		binary.LittleEndian.PutUint64(sum[:], uint64(rank))
		must(m.parent.Write(sum[:]))
	}
	children := t.AppendChildren(nil, rank)
	byRank := make(map[int]net.Conn, len(children))
	for range children {
		c := must(m.listener.Accept())
		must(io.ReadFull(c, sum[:]))
		byRank[int(binary.LittleEndian.Uint64(sum[:]))] = c
	}
	for _, child := range children {
		c := byRank[child.Rank]
		if c == nil {
			succeed(fmt.Errorf("raw tree: %d is no child of %d", child.Rank, rank))
		}
		m.children = append(m.children, c)
	}
}

// serve handles broadcasts until the parent closes the connection.
func (m *rawMember) serve() error {
	m.frame = make([]byte, 8, 8+bulk)
	for {
		if _, err := io.ReadFull(m.parent, m.frame[:8]); err != nil {
			return err
		}
		size := binary.LittleEndian.Uint64(m.frame)
		m.frame = m.frame[:8+size]
		if _, err := io.ReadFull(m.parent, m.frame[8:]); err != nil {
			return err
		}
		total, err := m.pass()
		if err != nil {
			return err
		}
		binary.LittleEndian.PutUint64(m.sum[:], total)
		if _, err := m.parent.Write(m.sum[:]); err != nil {
			return err
		}
	}
}

// pass writes the frame to the children and returns the sum of their answers.
func (m *rawMember) pass() (total uint64, err error) {
	for _, c := range m.children {
		if _, err := c.Write(m.frame); err != nil {
			return 0, err
		}
	}
	total = 1
	for _, c := range m.children {
		if _, err := io.ReadFull(c, m.sum[:]); err != nil {
			return 0, err
		}
		total += binary.LittleEndian.Uint64(m.sum[:])
	}
	return total, nil
}

// broadcast runs at the root. It makes the broadcasts of a run, and returns their times.
func (m *rawMember) broadcast(r collectiveRun, nodes int) (latencies, error) {
	m.frame = make([]byte, 8+r.Bytes)
	binary.LittleEndian.PutUint64(m.frame, uint64(r.Bytes))
	took := make(latencies, 0, r.Count)
	for i := -r.Warm; i < r.Count; i++ {
		began := time.Now()
		total, err := m.pass()
		if err != nil {
			return nil, err
		}
		if i >= 0 {
			took = append(took, float64(time.Since(began)))
		}
		if total != uint64(nodes) {
			return nil, errors.New("raw tree: the sum is wrong")
		}
	}
	return took, nil
}

func (m *rawMember) close() {
	m.listener.Close()
	for _, c := range append(m.children, m.parent) {
		if c != nil {
			c.Close()
		}
	}
}
