// SPDX-License-Identifier: Apache-2.0

// Package rewrite spells requests in other ways that protobuf allows and senders use. No content changes.
package rewrite

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Options choose the spelling.
type Options struct {
	Unpacked bool // lists of numbers one field a number, as async-profiler writes them
	Lean     bool // without what is empty in profiles, which pdata writes always and others never do
}

// A message's fields: those that are messages, those that are lists of numbers, and those that may be left out when empty.
type message struct {
	sub   map[uint64]*message
	lists map[uint64]byte // wire type of one number
	lean  []uint64
}

const (
	varint  = 0
	fixed64 = 1
	bytes   = 2
)

func lists(numbers ...uint64) map[uint64]byte {
	out := map[uint64]byte{}
	for _, n := range numbers {
		out[n] = varint
	}
	return out
}

func withTimes(numbers ...uint64) map[uint64]byte {
	out := lists(numbers...)
	out[5] = fixed64
	return out
}

func export(profile, dictionary *message) *message {
	scope := &message{sub: map[uint64]*message{2: profile}}
	resource := &message{sub: map[uint64]*message{2: scope}}
	return &message{sub: map[uint64]*message{1: resource, 2: dictionary}}
}

var (
	mapping     = &message{lists: lists(5)}
	oldLocation = &message{lists: lists(5)}
	location    = &message{lists: lists(4)}
	stack       = &message{lists: lists(1)}
	oldSample   = &message{lists: lists(3, 4, 6)}
	dictionary  = &message{sub: map[uint64]*message{1: mapping, 2: location, 7: stack}}
	sample18    = &message{lists: withTimes(2, 3)}
	sample110   = &message{lists: withTimes(2, 4)}

	layouts = map[string]*message{
		"1.5": export(&message{sub: map[uint64]*message{2: oldSample, 3: mapping, 4: oldLocation}, lists: lists(5, 15, 22), lean: []uint64{13, 17}}, nil),
		"1.7": export(&message{sub: map[uint64]*message{2: oldSample}, lists: lists(3, 8, 14), lean: []uint64{6, 10}},
			&message{sub: map[uint64]*message{1: mapping, 2: oldLocation}}),
		"1.8":  export(&message{sub: map[uint64]*message{2: sample18}, lists: lists(7, 12), lean: []uint64{5, 8}}, dictionary),
		"1.9":  export(&message{sub: map[uint64]*message{2: sample18}, lists: lists(11), lean: []uint64{5, 7}}, dictionary),
		"1.10": export(&message{sub: map[uint64]*message{2: sample110}, lists: lists(11), lean: []uint64{5, 7}}, dictionary),
	}
)

// Request rewrites a valid request of the layout. It panics on one that is not.
func Request(layout string, request []byte, o Options) []byte {
	if !o.Unpacked && !o.Lean {
		return request
	}
	return o.rewrite(layouts[layout], request)
}

func take(b []byte) (uint64, []byte) {
	v, n := binary.Uvarint(b)
	if n <= 0 {
		panic("bad varint")
	}
	return v, b[n:]
}

func (o Options) rewrite(m *message, in []byte) []byte {
	var out []byte
	for len(in) > 0 {
		start := in
		var tag, length uint64
		tag, in = take(in)
		field := tag >> 3
		switch tag & 7 {
		case varint:
			_, in = take(in)
		case fixed64:
			in = in[8:]
		case bytes:
			length, in = take(in)
			body := in[:length]
			in = in[length:]
			if o.Lean && length == 0 && slices.Contains(m.lean, field) {
				continue
			}
			if wire, is := m.lists[field]; is && o.Unpacked {
				out = single(out, field, wire, body)
				continue
			}
			if sub := m.sub[field]; sub != nil {
				body = o.rewrite(sub, body)
				out = binary.AppendUvarint(out, tag)
				out = binary.AppendUvarint(out, uint64(len(body)))
				out = append(out, body...)
				continue
			}
		default:
			panic(fmt.Sprintf("wire type %d", tag&7))
		}
		out = append(out, start[:len(start)-len(in)]...)
	}
	return out
}

func single(out []byte, field uint64, wire byte, list []byte) []byte {
	for len(list) > 0 {
		rest := list[min(8, len(list)):]
		if wire == varint {
			_, rest = take(list)
		}
		out = binary.AppendUvarint(out, field<<3|uint64(wire))
		out = append(out, list[:len(list)-len(rest)]...)
		list = rest
	}
	return out
}
