package router

import (
	"cmp"
	"fmt"
	"math/bits"
	"syscall"
	"time"
)

// StallTime is the time after which a next hop counts as stalled if messages to it are in flight
// and none of them has been sent.
const StallTime = time.Second

// Page is the capacity of a small buffer, and the unit of memory.
const Page = 4096

// maxPayload is the capacity of a large buffer (LNET_MTU).
const maxPayload = 1 << 20

// bufferClass is the kind of buffer that a message needs.
type bufferClass uint8

// The classes of buffers, by the payload of the message.
const (
	tinyBuffer    bufferClass = iota // for messages without payload
	smallBuffer                      // for payloads up to a page
	largeBuffer                      // for payloads up to maxPayload
	bufferClasses                    // number of classes; not a class
)

func (c bufferClass) String() string {
	return [...]string{"tiny", "small", "large", "none"}[min(c, bufferClasses)]
}

// classOf returns the class of a message with this length of payload in bytes.
func classOf(payload int) bufferClass {
	switch {
	case payload <= 0:
		return tinyBuffer
	case payload <= Page:
		return smallBuffer
	}
	return largeBuffer
}

// memoryOf returns the memory of the buffer for a payload in bytes: a power of two of pages.
func memoryOf(payload int) int {
	if payload <= 0 {
		return 0
	}
	return 1 << max(bits.Len(uint(payload-1)), bits.Len(uint(Page-1)))
}

// Config is how many buffers there are, and how much memory they may take together. The
// zero value of a field means its default.
type Config struct {
	Tiny   int `json:"tiny"`   // tiny_router_buffers, default 2048
	Small  int `json:"small"`  // small_router_buffers, default 16384
	Large  int `json:"large"`  // large_router_buffers, default 1024
	Memory int `json:"memory"` // bytes of all buffers, default 256 MiB
}

// minMemory leaves room for one buffer of each class.
const minMemory = 4 * maxPayload

// maxBuffers bounds the number of buffers of a class, as the configuration file of lnetd does.
const maxBuffers = 1 << 20

// Validate checks that the numbers of buffers are within 0 and 1 Mi, and that Memory is large
// enough for the largest message.
func (c Config) Validate() error {
	switch {
	case min(c.Tiny, c.Small, c.Large) < 0, max(c.Tiny, c.Small, c.Large) > maxBuffers:
		return fmt.Errorf("router buffers of a class are 0, the default, to %d: %w", maxBuffers, syscall.EINVAL)
	case c.Memory < 0 || c.Memory != 0 && c.Memory < minMemory:
		return fmt.Errorf("router memory of %d bytes; take %d or more: %w", c.Memory, minMemory, syscall.EINVAL)
	}
	return nil
}

// WithDefaults returns c with every zero field replaced by its default.
func (c Config) WithDefaults() Config {
	c.Tiny = cmp.Or(c.Tiny, 2048)
	c.Small = cmp.Or(c.Small, 16384)
	c.Large = cmp.Or(c.Large, 1024)
	c.Memory = cmp.Or(c.Memory, 256<<20)
	return c
}

// rooms returns the limits of each class. The memory of small buffers is set apart, so that
// large messages never make small ones wait.
func (c Config) rooms() (rooms [bufferClasses]room) {
	small := min(c.Small, c.Memory/4/Page) * Page
	rooms[tinyBuffer] = room{buffers: c.Tiny}
	rooms[smallBuffer] = room{buffers: c.Small, bytes: small}
	rooms[largeBuffer] = room{buffers: c.Large, bytes: c.Memory - small}
	return rooms
}
