// Package gateway keeps radio frames until Ridgeline has taken them.
package gateway

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"
)

// slotSize is the room of one frame in flash: header, at most 51 bytes of frame, padding.
const slotSize = 64

// headerSize covers checksum (4), arrival time (8) and length (1).
const headerSize = 13

// MaxFrame is the longest frame a station sends.
const MaxFrame = slotSize - headerSize

// ErrTooLong is returned for a frame that no station of ours can have sent.
var ErrTooLong = errors.New("frame longer than 51 bytes")

// Store is the part of a flash device the buffer needs; *os.File fits.
type Store interface {
	io.ReaderAt
	io.WriterAt
}

// Frame is a radio frame with the time of its arrival.
type Frame struct {
	Arrived time.Time
	Data    []byte
}

// RingBuffer holds frames in arrival order and overwrites the oldest first.
//
// Since firmware 3.1 it lives in flash and has room for 72 hours of forty
// stations; before, it was a slice in memory that held two hours.
type RingBuffer struct {
	mu    sync.Mutex
	store Store
	slots uint64
	head  uint64 // number of frames ever written
	tail  uint64 // number of frames ever delivered or overwritten
	lost  uint64
}

// NewRingBuffer returns an empty buffer of the given number of slots.
func NewRingBuffer(store Store, slots uint64) (*RingBuffer, error) {
	if slots == 0 {
		return nil, errors.New("a ring buffer needs at least one slot")
	}
	return &RingBuffer{store: store, slots: slots}, nil
}

// Push stores a frame; if the buffer is full, the oldest frame is lost.
func (b *RingBuffer) Push(f Frame) error {
	if len(f.Data) > MaxFrame {
		return fmt.Errorf("%w: %d", ErrTooLong, len(f.Data))
	}
	var slot [slotSize]byte
	binary.BigEndian.PutUint64(slot[4:], uint64(f.Arrived.UnixMilli()))
	slot[12] = byte(len(f.Data))
	copy(slot[headerSize:], f.Data)
	binary.BigEndian.PutUint32(slot[:], crc32.ChecksumIEEE(slot[4:]))

	b.mu.Lock()
	defer b.mu.Unlock()
	if _, err := b.store.WriteAt(slot[:], int64(b.head%b.slots)*slotSize); err != nil {
		return fmt.Errorf("write slot %d: %w", b.head%b.slots, err)
	}
	b.head++
	if b.head-b.tail > b.slots {
		b.tail++
		b.lost++
	}
	return nil
}

// Drain hands frames to deliver, oldest first, until the buffer is empty or
// deliver fails. A frame leaves the buffer only after it was delivered, so that
// a broken connection costs a duplicate and never a hole.
func (b *RingBuffer) Drain(deliver func(Frame) error) (delivered int, err error) {
	for {
		frame, number, ok, err := b.oldest()
		if err != nil || !ok {
			return delivered, err
		}
		if frame != nil {
			if err := deliver(*frame); err != nil {
				return delivered, fmt.Errorf("deliver frame %d: %w", number, err)
			}
			delivered++
		}
		b.release(number)
	}
}

// oldest returns the first waiting frame; a nil frame stands for a damaged slot.
func (b *RingBuffer) oldest() (*Frame, uint64, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tail == b.head {
		return nil, 0, false, nil
	}
	var slot [slotSize]byte
	if _, err := b.store.ReadAt(slot[:], int64(b.tail%b.slots)*slotSize); err != nil {
		return nil, 0, false, fmt.Errorf("read slot %d: %w", b.tail%b.slots, err)
	}
	length := int(slot[12])
	if binary.BigEndian.Uint32(slot[:]) != crc32.ChecksumIEEE(slot[4:]) || length > MaxFrame {
		b.lost++
		return nil, b.tail, true, nil
	}
	data := make([]byte, length)
	copy(data, slot[headerSize:headerSize+length])
	arrived := time.UnixMilli(int64(binary.BigEndian.Uint64(slot[4:]))).UTC()
	return &Frame{Arrived: arrived, Data: data}, b.tail, true, nil
}

// release forgets a delivered frame unless it has been overwritten meanwhile.
func (b *RingBuffer) release(number uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.tail == number {
		b.tail++
	}
}

// Waiting returns how many frames have not been delivered.
func (b *RingBuffer) Waiting() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.head - b.tail
}

// Lost returns how many frames were overwritten or damaged since the start.
func (b *RingBuffer) Lost() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lost
}
