"""Max-margin problems for the coefficients eta given document features z_d, solved in the dual up to a duality gap.

regression   min ½ (eta - m)' P (eta - m) + C sum_d w_d max(0, |y_d - eta·z_d| - epsilon)
binary       min ½ (eta - m)' P (eta - m) + C sum_d w_d max(0, cost - s_d eta·z_d),   s_d = +1 (y = 1), -1 (y = 0)
classes      min ½ sum_c eta_c' P_c eta_c + C sum_d w_d max_c [cost 1(c != y_d) - (eta_{y_d} - eta_c)·z_d]

`solve_one_slack` solves the last problem by cutting planes. There is no intercept, since topic shares sum to one. C is
per document (the paper's C/D, where it divides by D). The classes problem with two classes equals the binary problem
at 2C: the binary eta is eta_1 - eta_0, and the binary dual is twice the dual of the classes.
"""

from .planes import solve_one_slack
from .solve import MarginFit, solve_binary, solve_classes, solve_regression

__all__ = ["MarginFit", "solve_binary", "solve_classes", "solve_one_slack", "solve_regression"]
