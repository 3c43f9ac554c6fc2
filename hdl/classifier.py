# amaranth: UnusedElaboratable=no
# A component may be made only to ask for its latency.
"""The whole circuit: encoder, layers, GroupSum and argmax in one pipeline."""

import dataclasses
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from amaranth.hdl import Cat, ClockSignal, Instance, Module, ResetSignal, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.data import ArrayLayout, StructLayout
from amaranth.lib.wiring import In, Out
from numpy.typing import NDArray

from trilut.circuit.interface import InputKind, Interface, input_ports, margin_port, output_ports
from trilut.circuit.netlist import Netlist
from trilut.circuit.reach import output_values, reachable_rows
from trilut.circuit.sequential import Circuit, SequentialNetlist
from trilut.circuit.trit import PLUS, TRIT_BITS
from trilut.circuit.vectors import NetWires
from trilut.errors import NetlistError
from trilut.hdl.argmax import Argmax, DifferenceArgmax
from trilut.hdl.control import Control
from trilut.hdl.encoder import FeatureEncoder
from trilut.hdl.fabric import LayerFaults, layer_verilog
from trilut.hdl.layer import Layer
from trilut.hdl.lookup import CELLS, lookup_text
from trilut.hdl.options import PORTABLE, HardwareOptions
from trilut.hdl.plan import LayerPlan, plan_layers
from trilut.hdl.state import StateRegisters, state_verilog
from trilut.hdl.sums.groupsum import GroupSum, ScoreDifference, TritSum
from trilut.hdl.sums.plan import Term
from trilut.hdl.tie import TieArgmax

__all__ = ["AnyArgmax", "Classifier", "StreamClassifier"]

AnyArgmax = Argmax | DifferenceArgmax | TieArgmax
"""What decides, by what is asked for."""

_ENCODER_SIGNAL = re.compile(r"(?:.*\.)?encoder\.o\[([0-9]+)\]")
_LAYER_SIGNAL = re.compile(r"(?:.*\.)?layer_([0-9]+)\.([io])\[([0-9]+)\]")
_SUM_SIGNAL = re.compile(r"(?:.*\.)?groupsum\.(?:i|(\w+_[0-9]+)_input)\[([0-9]+)\]")


class Classifier(wiring.Component):
    """A netlist as a pipeline.

    Takes one vector and gives one result per clock cycle, ``latency`` cycles later while nothing
    stalls. Results come in order. See :class:`Control` for the handshake and reset. The blocks are
    the submodules ``encoder``, ``layer_1`` …, ``groupsum``, ``argmax`` and ``control``.

    A circuit with state has the submodule ``state`` beside its layers, and no register between
    them: a vector takes one step in one cycle, in which the states go round. Vectors come in
    sequences, and each sequence begins with the resets.

    Parameters
    ----------
    netlist : Netlist or SequentialNetlist
        The circuit. Without a head the results are its output trits.
    options : HardwareOptions, optional
        Its pipeline, input, sums, scores and port of the margin. A netlist without an encoder takes
        trits only. Unless they say what sums are made of, it is any logic, which Amaranth's own
        simulator can run.
    encoded : bool
        Whether trits come from a design that encodes by the netlist's own encoder: what the encoder
        cannot make is then a don't-care.
    input_register : bool, optional
        Whether a register stands before the layers. A design that holds its vectors in registers
        until they are taken needs none. By default the options say it.
    layer_module : callable, optional
        Gives the name of the Verilog module to instantiate for a layer, as made by
        :func:`layer_verilog`. By default the layers are built in Amaranth.
    state_module : str, optional
        Name of the Verilog module to instantiate for the states, as made by :func:`state_verilog`.
        By default they are built in Amaranth.

    Attributes
    ----------
    options : HardwareOptions
        What shaped it.
    netlist : Netlist
        What its layers compute; of a circuit with state the core.
    plans : list of LayerPlan
        The layers.
    interface : Interface
        Its ports.
    latency : int
        Clock cycles from the edge that takes a vector to the edge at which its result can be taken.

    Members
    -------
    in_valid, in_ready : :py:`In(1)`, :py:`Out(1)`
        Handshake of the input.
    in_features : :py:`In(feature_layout(netlist.encoder))`
        Feature values, if the input is features.
    in_present : :py:`In(len(netlist.encoder.features))`
        Bit f is low if feature f is missing, if the input is features and these can be missing.
    in_trits : :py:`In(ArrayLayout(2, netlist.num_inputs))`
        Dual-rail trits, if the input is trits. The code 11 must not occur.
    in_last : :py:`In(1)`
        Whether the vector is the last one of its sequence, if there are states.
    abstain_margin : :py:`In`
        The abstention margin, if there is a port for it; see :class:`Argmax`.
    out_valid, out_ready : :py:`Out(1)`, :py:`In(1)`
        Handshake of the output.
    out_class, out_margin, out_unknown, out_scores, out_certain, out_set : :py:`Out`
        The decision, as in :func:`decision_layout`, if the netlist has a head. The margin unless
        the options leave it out, and the last three if
        the options ask for them.
    out_trits : :py:`Out(ArrayLayout(2, len(netlist.outputs)))`
        Dual-rail output trits, if it has none.
    """

    def __init__(
        self,
        netlist: Circuit,
        options: HardwareOptions | None = None,
        *,
        encoded: bool = False,
        input_register: bool | None = None,
        layer_module: Callable[[LayerPlan], str] | None = None,
        state_module: str | None = None,
    ):
        options = (options or HardwareOptions()).for_part(PORTABLE).for_netlist(netlist)
        self.options = options
        is_features = options.input_kind is InputKind.FEATURES
        encoder = netlist.encoder if is_features else None
        if is_features and encoder is None:
            raise NetlistError(
                f"Netlist {netlist.name!r} has no encoder, so its hardware can only take trits"
            )
        if input_register is None:
            input_register = options.has_input_register
        self.layer_module = layer_module
        self.state_module = state_module
        self._state = None
        self._has_sequences = isinstance(netlist, SequentialNetlist)
        if isinstance(netlist, SequentialNetlist):
            self.netlist, rows = netlist.core, netlist.core_rows()
            self.wires = NetWires(self.netlist, rows)
            self._state = StateRegisters(netlist, self.wires) if netlist.num_states else None
            # What enters the loop comes from a register.
            input_register, pipeline = True, None
        else:
            # Whoever drives trits need not drive only what the encoder could make.
            keeps_encoder = encoded or encoder is not None
            self.netlist = netlist if keeps_encoder else dataclasses.replace(netlist, encoder=None)
            rows, pipeline = reachable_rows(self.netlist), options.pipeline
            self.wires = NetWires(self.netlist, rows)
        self.input_register = input_register
        self._inputs = range(netlist.num_inputs)
        self._outputs = self.netlist.outputs[: netlist.num_outputs].tolist()
        self._encoder = None
        if encoder:
            self._encoder = FeatureEncoder(
                encoder,
                pipeline=options.pipeline,
                registered=input_register,
                single={net for net in self._inputs if self.wires.num_wires[net] == 1},
            )
        self._sum, self._argmax = _head_blocks(self.netlist, rows, self.wires, options)
        # The sum has a register of its own at its input, in the code that suits it.
        self.plans = plan_layers(self.netlist, pipeline, register_last=self._sum is None, rows=rows)
        self._input_stages = self._encoder.latency if self._encoder else int(input_register)
        self._num_stages = self._input_stages + sum(plan.registered for plan in self.plans)
        if self._sum is not None and self._argmax is not None:
            self._num_stages += self._sum.latency + self._argmax.latency
        self.latency = self._num_stages + 1
        head = netlist.head
        self.interface = Interface(
            input_ports(
                encoder,
                netlist.num_inputs,
                presence=self._has_presence,
                last=self._has_sequences,
            ),
            output_ports(head, netlist.num_outputs, options.head_outputs, margin=options.margin),
            self.latency,
            margin_port(head) if head is not None and options.margin_port else None,
        )
        super().__init__({**self._input_members(), **self._output_members()})

    @property
    def head_blocks(self) -> tuple[TritSum | None, AnyArgmax | None]:
        """The sums and the argmax; None if the netlist has no head."""
        return self._sum, self._argmax

    @property
    def margin_members(self) -> dict[str, Any]:
        """The member ``abstain_margin`` if there is one, for components around this one."""
        if self._argmax is None or not self._argmax.margin_port:
            return {}
        return {"abstain_margin": In(self._argmax.abstain_margin.shape())}

    def net_of(self, signal: str) -> int | None:
        """Return the net of ``netlist`` that a bit of a signal is of, or None if it is of none.

        Parameters
        ----------
        signal : str
            A bit of the output of the encoder, of the input or output of a layer, or of the input
            of the sums and its register, by its path in the design: ``layer_2.o[5]``.
        """
        if match := _ENCODER_SIGNAL.fullmatch(signal):
            return self._net_at(self._inputs, int(match[1]))
        if match := _LAYER_SIGNAL.fullmatch(signal):
            plan = self.plans[int(match[1]) - 1]
            return self._net_at(plan.nets_in if match[2] == "i" else plan.nets_out, int(match[3]))
        if (match := _SUM_SIGNAL.fullmatch(signal)) and self._sum is not None:
            name, bit = match[1], int(match[2])
            outputs = self.netlist.outputs.tolist()
            if name is None:
                return self._net_at(outputs, bit)
            return int(outputs[self._sum.input_trit(name, bit)])
        return None

    def _net_at(self, nets: Sequence[int], wire: int) -> int:
        """Return the net that a wire of a vector of nets is of."""
        ends = np.cumsum(self.wires.num_wires[list(nets)])
        return nets[int(np.searchsorted(ends, wire, side="right"))]

    def state_text(self) -> str:
        """Return the Verilog of the module that ``state_module`` names; empty without states."""
        if self._state is None or self.state_module is None:
            return ""
        return state_verilog(self._state, self.state_module)

    def layer_text(self, plan: LayerPlan, faults: LayerFaults | None = None) -> str:
        """Return the Verilog of the module that ``layer_module`` names for a layer."""
        assert self.layer_module is not None
        is_cells = self.options.has_lut_cells and plan.registered
        return layer_verilog(
            self.netlist,
            plan,
            self.layer_module(plan),
            lut_cells=is_cells,
            lookup=CELLS.get(self.options.sums or PORTABLE, lookup_text),
            faults=faults,
        )

    @property
    def _has_presence(self) -> bool:
        """Whether there is a port that says which features are there; a loader drives it itself."""
        return self.options.presence_bits or self.options.axi_beat_bits is not None

    def _input_members(self) -> dict[str, Any]:
        members = {"in_valid": In(1), "in_ready": Out(1)}
        if self._encoder is not None:
            members["in_features"] = In(self._encoder.features.shape())
            if self._has_presence:
                members["in_present"] = In(self._encoder.present.shape())
        else:
            members["in_trits"] = In(ArrayLayout(2, len(self._inputs)))
        if self._has_sequences:
            members["in_last"] = In(1)
        return {**members, **self.margin_members}

    def _output_members(self) -> dict[str, Any]:
        return {"out_valid": Out(1), "out_ready": In(1), **self._result_members()}

    def _result_members(self) -> dict[str, Any]:
        if self._argmax is None:
            return {"out_trits": Out(ArrayLayout(2, len(self._outputs)))}
        return {
            "out_class" if name == "chosen" else f"out_{name}": Out(field.shape)
            for name, field in self._argmax.o.shape()
            if name != "margin" or self.options.margin
        }

    def elaborate(self, platform: object) -> Module:
        m = Module()
        results = Cat(getattr(self, name) for name in self._result_members())
        loop = None if self._state is None else self._input_stages
        m.submodules.control = control = Control(self._num_stages, len(results), loop=loop)
        m.d.comb += [
            control.in_valid.eq(self.in_valid),
            self.in_ready.eq(control.in_ready),
            self.out_valid.eq(control.out_valid),
            control.out_ready.eq(self.out_ready),
            results.eq(control.o),
        ]
        trits = self._input_stage(m, control.advance)
        states = Signal(0 if self._state is None else self._state.width, name="state_o")
        trits = Cat(trits, states)
        for plan in self.plans:
            trits = self._layer(m, plan, trits, control.advance)
        if not self.plans:
            # Without gates the outputs are inputs, still to be put in order.
            places = self.wires.places(range(self.netlist.num_inputs))
            outputs = [places[net] for net in self.netlist.outputs.tolist()]
            trits = Cat(trits[place[0] : place[-1] + 1] for place in outputs)
        if self._state is not None:
            trits = self._loop(m, self._state, control, trits, states)
        m.d.comb += control.i.eq(self._output_stage(m, trits, control.advance))
        return m

    def _input_stage(self, m: Module, advance: Any) -> Any:
        if self._encoder is None:
            trits = self._entering()
            if not self.input_register:
                return trits
            register = Signal(len(trits), reset_less=True, name="in_register")
            with m.If(advance):
                m.d.sync += register.eq(trits)
            return register
        m.submodules.encoder = encoder = self._encoder
        m.d.comb += [
            encoder.features.eq(self.in_features),
            encoder.present.eq(self.in_present if self._has_presence else ~0),
        ]
        if self.input_register:
            m.d.comb += encoder.en.eq(advance)
        return encoder.o.as_value()

    def _loop(
        self, m: Module, registers: StateRegisters, control: Control, made: Any, states: Any
    ) -> Any:
        """Drive the states from those that this step has made, and return its outputs."""
        last = self.in_last
        for stage in range(self._input_stages):
            register = Signal(reset_less=True, name=f"last_{stage}")
            with m.If(control.advance):
                m.d.sync += register.eq(last)
            last = register
        width = self.wires.width(self._outputs)
        moves = {"advance": control.advance, "present": control.present, "last": last}
        if self.state_module is not None:
            m.submodules.state = Instance(
                self.state_module,
                i_clk=ClockSignal(),
                i_rst=ResetSignal(),
                i_i=made[width:],
                o_o=states,
                **{f"i_{name}": value for name, value in moves.items()},
            )
            return made[:width]
        m.submodules.state = registers
        m.d.comb += [registers.i.eq(made[width:]), states.eq(registers.o)]
        m.d.comb += [getattr(registers, name).eq(value) for name, value in moves.items()]
        return made[:width]

    def _entering(self) -> Any:
        """Return the wires of the inputs: of a bit's two rails one."""
        trits = self.in_trits.as_value()
        if self.wires.is_dual_rail:
            return trits
        words = [trits.word_select(net, TRIT_BITS) for net in self._inputs]
        num_wires = self.wires.num_wires[self._inputs].tolist()
        return Cat(
            word if count == TRIT_BITS else word[PLUS]
            for word, count in zip(words, num_wires, strict=True)
        )

    def _leaving(self, wires: Any) -> Any:
        """Return the outputs as dual-rail trits."""
        if self.wires.is_dual_rail:
            return wires
        trits, first = [], 0
        for count in self.wires.num_wires[self._outputs].tolist():
            word = wires[first : first + count]
            trits.append(word if count == TRIT_BITS else Cat(~word, word))
            first += count
        return Cat(trits)

    def _layer(self, m: Module, plan: LayerPlan, trits: Any, advance: Any) -> Any:
        name = f"layer_{plan.level}"
        if self.layer_module is not None:
            output = Signal(plan.width_out, name=f"{name}_o")
            clock = {"i_clk": ClockSignal(), "i_en": advance} if plan.registered else {}
            m.submodules[name] = Instance(self.layer_module(plan), i_i=trits, o_o=output, **clock)
            return output
        m.submodules[name] = layer = Layer(self.netlist, plan)
        m.d.comb += layer.i.as_value().eq(trits)
        if plan.registered:
            m.d.comb += layer.en.eq(advance)
        return layer.o.as_value()

    def _output_stage(self, m: Module, trits: Any, advance: Any) -> Any:
        if self._sum is None or self._argmax is None:
            return self._leaving(trits)
        m.submodules.groupsum = groupsum = self._sum
        m.submodules.argmax = argmax = self._argmax
        m.d.comb += [
            groupsum.i.as_value().eq(trits),
            groupsum.en.eq(advance),
            argmax.i.eq(groupsum.o),
            argmax.en.eq(advance),
        ]
        if argmax.margin_port:
            m.d.comb += argmax.abstain_margin.eq(self.abstain_margin)
        if self.options.margin:
            return argmax.o.as_value()
        return Cat(argmax.o[name] for name, _ in argmax.o.shape() if name != "margin")


def _head_blocks(
    netlist: Netlist, rows: NDArray[np.bool_], wires: NetWires, options: HardwareOptions
) -> tuple[TritSum | None, AnyArgmax | None]:
    """Return the sum and the argmax of a netlist with a head."""
    head = netlist.head
    if head is None:
        return None, None
    pipeline, extra, sums = options.pipeline, options.head_outputs, options.sums or PORTABLE
    values = _output_terms(netlist, rows, wires)
    if len(head.classes) == 2 and not options.scores:
        difference = ScoreDifference(
            head,
            pipeline,
            values=values,
            target=sums,
            input_register=True,
            bounds=options.certain,
        )
        return difference, DifferenceArgmax(head, extra, margin_port=options.margin_port)
    groupsum = GroupSum(
        head,
        pipeline,
        values=values,
        exact=options.scores,
        target=sums,
        input_register=True,
        bounds=options.certain,
    )
    is_tie = head.abstain_margin == 1 and not (extra or options.margin or options.margin_port)
    if is_tie:
        return groupsum, TieArgmax(head, pipeline=pipeline, target=sums)
    argmax = Argmax(head, extra, margin_port=options.margin_port, pipeline=pipeline)
    return groupsum, argmax


def _output_terms(netlist: Netlist, rows: NDArray[np.bool_], wires: NetWires) -> list[Term]:
    """Return the values of each output that is a trit, and the codes of the others."""
    terms: list[Term] = []
    for net, values in zip(netlist.outputs.tolist(), output_values(netlist, rows), strict=True):
        number = wires.number(net)
        if number is None:
            terms.append(values or (0,))
        elif values:
            terms.append(dataclasses.replace(number, low=values[0], high=values[-1]))
        else:
            terms.append(number)
    return terms


class StreamClassifier(wiring.Component):
    """A :class:`Classifier` with Amaranth streams, for designs in Amaranth.

    Members
    -------
    i : :py:`In(stream.Signature(StructLayout(...)))`
        Vectors. The fields are the ``in_`` ports of the classifier: ``features`` and ``present``,
        or ``trits``.
    o : :py:`Out(stream.Signature(StructLayout(...)))`
        Results. The fields are its ``out_`` ports: ``class``, ``margin``, ``unknown`` and
        ``scores``, or ``trits``.
    abstain_margin : :py:`In`
        The abstention margin, if the classifier has a port for it.
    """

    def __init__(self, classifier: Classifier):
        self.classifier = classifier
        ports = classifier.interface
        payload = {
            flow: StructLayout(
                {
                    port.name.removeprefix(prefix): classifier.signature.members[port.name].shape
                    for port in side
                }
            )
            for flow, prefix, side in (("i", "in_", ports.inputs), ("o", "out_", ports.outputs))
        }
        super().__init__(
            {
                "i": In(stream.Signature(payload["i"])),
                "o": Out(stream.Signature(payload["o"])),
                **classifier.margin_members,
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.classifier = core = self.classifier
        m.d.comb += [
            core.in_valid.eq(self.i.valid),
            self.i.ready.eq(core.in_ready),
            self.o.valid.eq(core.out_valid),
            core.out_ready.eq(self.o.ready),
            *(getattr(core, name).eq(getattr(self, name)) for name in core.margin_members),
        ]
        for name in self.i.payload.shape().members:
            m.d.comb += getattr(core, f"in_{name}").eq(self.i.payload[name])
        for name in self.o.payload.shape().members:
            m.d.comb += self.o.payload[name].eq(getattr(core, f"out_{name}"))
        return m
