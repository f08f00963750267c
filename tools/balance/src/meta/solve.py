"""Runs Meta's Rebalancer on one snapshot.

Reads a problem as JSON from standard input and writes the answer to the file
named as the only argument: the solver itself prints to standard output.
"""

import json
import sys
import time

from rebalancer import ProblemSolver
from rebalancer.specs import (
    BalanceSpec,
    GoalSpec,
    LocalSearchSolverSpec,
    MoveTypeSpec,
    SingleMoveTypeSpec,
    SolverSpec,
    SwapMoveTypeSpec,
)


# BalanceSpecFormula.SQUARES: the binding of 1.0.4 takes enumerations as numbers.
SQUARES = 2


def search(problem):
    moves = [MoveTypeSpec(singleMoveTypeSpec=SingleMoveTypeSpec())]
    if problem["swap"]:
        moves.append(MoveTypeSpec(swapMoveTypeSpec=SwapMoveTypeSpec()))
    spec = LocalSearchSolverSpec(moveTypeList=moves, solveTime=problem["seconds"])
    if problem["most_moves"] is not None:
        spec["stopAfterMoves"] = problem["most_moves"]
    return SolverSpec(localSearchSolverSpec=spec)


def main():
    problem = json.load(sys.stdin)
    hosts = {str(host): [] for host in range(problem["hosts"])}
    for shard, owner in enumerate(problem["owners"]):
        hosts[str(owner)].append(str(shard))
    loads = {str(shard): load for shard, load in enumerate(problem["loads"])}
    begun = time.monotonic()
    solver = ProblemSolver(service_name="plimsoll", service_scope="lab")
    solver.set_object_name("shard").set_container_name("host").set_assignment(hosts)
    solver.add_object_dimension("load", loads)
    balance = BalanceSpec(name="even", scope="host", dimension="load", formula=SQUARES)
    solver.add_goal(GoalSpec(balanceSpec=balance))
    solver.add_solver(search(problem))
    solver.disable_solution_summary()
    assignment = solver.solve()["assignment"]
    seconds = time.monotonic() - begun
    owners = [int(assignment[str(shard)]) for shard in range(len(loads))]
    with open(sys.argv[1], "w") as answer:
        json.dump({"owners": owners, "seconds": seconds}, answer)


if __name__ == "__main__":
    main()
