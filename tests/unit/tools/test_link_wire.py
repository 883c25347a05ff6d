# SPDX-License-Identifier: Apache-2.0
"""Which end of a wire a packet is for."""

from __future__ import annotations

from link_wire import receiver


def test_a_packet_goes_to_the_end_with_its_address() -> None:
    ends = (30, 31, 32)
    packet = bytes([0x45]) + bytes(15) + bytes([10, 78, 0, 4])
    assert receiver(packet, ends) == 32
    assert receiver(packet[:-1] + bytes([9]), ends) is None
    assert receiver(bytes([0x60]) + packet[1:], ends) is None, "no IPv4"
    assert receiver(b"", ends) is None
