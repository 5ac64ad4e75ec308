"""Mutants (`tests.mutants`) of what models are made of: topics, priors, responses."""

from tests.mutant import mutants_of

_WORDS = "test_kernels_e_step_words.py::"
_COEF = "test_coefficients.py::"
_RESPONSES = "test_responses.py::"
_JOINT = "test_samplers.py::test_sweeps_keep_the_joint_distribution"
_FITTED = "test_golden_fits.py::test_a_new_fit_gives_the_same_numbers"

MUTANTS = [
    *mutants_of(
        "emissions/dirichlet.py",
        ("np.float32(1.0 - rate) * word_topic[rows]", "word_topic[rows]", _FITTED + "[lda-svi]"),
        (
            "gammaln(self.prior * len(word_topic)) - gammaln(totals)",
            "- gammaln(totals)",
            _WORDS + "test_topics_are_expected_as_written_down",
        ),
    ),
    *mutants_of(
        "metrics/likeness.py",
        (
            "lift -= np.log(np.maximum(shares @ topics / shares.sum(), 1e-300))[first]",
            "lift -= np.log(np.maximum(topics.mean(axis=0), 1e-300))[first]",
            "test_reading.py::test_words_of_all_topics_are_told_from_a_topics_own",
        ),
    ),
    *mutants_of(
        "coefficients.py",
        (
            "ridge = 1e-6 * max(float(np.trace(gram)) / len(gram), 1e-12) + self.own",
            "ridge = 1e-6",
            _COEF + "test_normal_is_ridge",
        ),
        (
            "- np.outer(shared, shared) / (shared.sum() + _LEVEL)",
            "",
            "test_base_rate.py::test_a_tight_prior_predicts_the_mean",
        ),
        (
            "return coef + one * (one @ cross - across @ coef) / (one @ across + _LEVEL)",
            "return coef",
            "test_base_rate.py::test_the_solution_is_a_mode",
        ),
        (
            "float(0.5 * (self.gradient(coef) * coef).sum())",
            "float((self.gradient(coef) * coef).sum())",
            _COEF + "test_solution_is_the_maximum_of_the_log_posterior",
        ),
        (
            "np.trace(cov, axis1=1, axis2=2) / self.scale**2",
            "0.0",
            "test_medlda.py::test_spread_of_the_coefficients_in_the_evidence",
        ),
    ),
    *mutants_of(
        "priors/dirichlet.py",
        (
            "(digamma(sizes + alpha.sum()) - digamma(alpha.sum()))",
            "digamma(sizes + alpha.sum())",
            "test_prior_dirichlet.py::test_minka_climbs_to_the_maximum",
        ),
        (
            "(gradient - shift) / diagonal * rate",
            "(gradient - shift) / diagonal",
            "test_prior_dirichlet.py::test_a_damped_step_is_a_part_of_newtons",
        ),
        (
            "n_topics * (digamma(n_topics * a) - digamma(a)) + total_log",
            "n_topics * (digamma(a) - digamma(n_topics * a)) + total_log",
            "test_prior_dirichlet.py::test_newton_finds_the_maximum_of_real_statistics",
        ),
    ),
    *mutants_of(
        "responses/binary.py",
        (
            "only_known(y, y[:, None] - 0.5, half_tanh",
            "only_known(y, y[:, None], half_tanh",
            _RESPONSES + "test_slope_and_curvature_are_the_derivatives_of_the_bound",
        ),
        (
            "only_known(y, ratio * (ratio + towards))",
            "only_known(y, ratio * ratio)",
            "test_regression_slopes.py::test_information_is_the_curvature_of_the_density",
        ),
        ("score[:, 0]) - 0.5 * variance)", "score[:, 0]))", _RESPONSES + "test_bound_is_below_the_expectation"),
    ),
    *mutants_of(
        "responses/continuous.py",
        (
            "squares / variance) - np.log(scale))",
            "squares / variance))",
            _RESPONSES + "test_with_a_known_score_the_bound_is_the_density",
        ),
        ("VARIANCE_PRIOR[1] + 0.5 * squares.sum()", "VARIANCE_PRIOR[1] + squares.sum()", _JOINT + "[gaussian laplace]"),
    ),
    *mutants_of(
        "responses/counts.py",
        (
            "y * score[:, 0] - moment[:, 0] - special.gammaln(y + 1)",
            "y * score[:, 0] - moment[:, 0]",
            _RESPONSES + "test_with_a_known_score_the_bound_is_the_density",
        ),
        (
            "only_known(y, 0.5 * (y[:, None] - r), curvature)",
            "only_known(y, 0.5 * (y[:, None] + r), curvature)",
            _RESPONSES + "test_slope_and_curvature_are_the_derivatives_of_the_bound",
        ),
    ),
    *mutants_of(
        "responses/classes.py",
        ("[:, column] - 0.5) + omega * rest, omega", "[:, column] - 0.5), omega", _JOINT + "[softmax laplace]"),
        (
            "score + (at_low - at_high)[:, None]",
            "score + (at_high - at_low)[:, None]",
            _RESPONSES + "test_slope_and_curvature_are_the_derivatives_of_the_bound",
        ),
        ("< 0.5 - 1e-12", "< 0.3", "test_responses_one_by_one.py::test_ordinal_bets_on_the_median"),
    ),
    *mutants_of(
        "responses/positive.py",
        (
            "return 0.5 * n, np.where(strength > 0, 0.5 * strength",
            "return n, np.where(strength > 0, 0.5 * strength",
            _JOINT + "[inverse_gaussian laplace]",
        ),
        (
            "return np.log(u) + score - u * moment",
            "return np.log(u) - score - u * moment",
            _RESPONSES + "test_with_a_known_score_the_bound_is_the_density",
        ),
    ),
    *mutants_of(
        "responses/margin.py",
        (
            "return sign * (c + curvature * intercept), curvature",
            "return sign * curvature * intercept, curvature",
            "test_medlda_gibbs.py::test_topics_follow_the_enumerated_posterior[two]",
        ),
    ),
    # --- priors on topic shares, seed words ---------------------------------------------------------------------------
    *mutants_of(
        "priors/regression.py",
        (
            "(alpha - self.start) / self.scale[:, None] ** 2",
            "0.0 * alpha",
            "test_prior_regression.py::test_an_m_step_ends_at_the_maximum",
        ),
        (
            "polygamma(1, mine) - polygamma(1, mine + counts)",
            "polygamma(1, mine)",
            "test_prevalence.py::test_errors_are_those_of_the_curvature",
        ),
        (
            "np.eye(1, x.shape[1])",
            "np.zeros((1, x.shape[1]))",
            "test_prevalence.py::test_missing_metadata_is_that_of_the_average_document",
        ),
    ),
    *mutants_of(
        "priors/regression.py",
        (
            "digamma(own.sum(axis=1, keepdims=True)) - digamma(own)",
            "-digamma(own)",
            "test_prior_regression.py::test_gradient_and_information_are_those_of_differences",
        ),
        (
            "+ np.diag(self.scale**-2.0)",
            "",
            "test_prior_regression.py::test_coefficients_have_a_normal_prior",
        ),
        (
            "-0.5 * (((",
            "-0.0 * (((",
            "test_prior_regression.py::test_coefficients_have_a_normal_prior",
        ),
    ),
    *mutants_of(
        "inference/spectral_topics.py",
        ("- alone[:, None] * signs", "", "test_spectral_topics.py::test_rows_are_those_of_pairs_of_tokens"),
        (
            "left -= np.outer(left @ direction, direction)",
            "pass",
            "test_spectral_topics.py::test_anchors_are_farthest_from_the_span_of_those_before",
        ),
        (
            "weights @ gram - cross",
            "weights @ gram",
            "test_spectral_topics.py::test_weights_are_the_nearest_on_the_simplex",
        ),
    ),
    *mutants_of(
        "documents/formulas.py",
        (
            " + spline(inside, 1) * (x - inside)[:, None]",
            "",
            "test_formulas.py::test_a_spline_is_a_natural_cubic_spline_with_its_knots_at_quantiles",
        ),
        (
            'bc_type="natural"',
            'bc_type="not-a-knot"',
            "test_formulas.py::test_a_spline_is_a_natural_cubic_spline_with_its_knots_at_quantiles",
        ),
        (
            "[:, None])[:, 1:]",
            "[:, None])[:, :-1]",
            "test_formulas.py::test_coefficients_of_a_spline_are_differences_from_the_first_knot",
        ),
    ),
    *mutants_of(
        "documents/cohesion.py",
        ("pieces.add(worse)", "pass", "test_languages.py::test_pieces_of_words_are_left_out"),
        ("value < _LEAST", "False", "test_languages.py::test_a_stop_word_makes_no_word_with_its_neighbour"),
        (
            "- _STOP_CHARACTER * sum",
            "- 0.0 * sum",
            "test_languages.py::test_a_stop_word_makes_no_word_with_its_neighbour",
        ),
    ),
    *mutants_of(
        "emissions/seeds.py",
        (
            "return float(gained - (gammaln(prior + self.counts) - gammaln(prior)).sum())",
            "return float(gained)",
            "test_seed_words.py::test_evidence_is_that_of_an_asymmetric_prior",
        ),
        (
            "order[own] = taken",
            "order[own] = own",
            "test_seed_words.py::test_first_topics_are_put_in_the_order_of_the_seeds",
        ),
    ),
    *mutants_of(
        "inference/gibbs/sampler.py",
        (
            "+ seeds + self._log_documents()",
            "+ self._log_documents()",
            "test_seed_words.py::test_the_samplers_joint_is_that_of_an_asymmetric_prior",
        ),
    ),
    # --- inference ----------------------------------------------------------------------------------------------------
]
