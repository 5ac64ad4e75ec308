"""The mutants of the kernels."""

from tests.mutant import mutants_of

_WORDS = "test_kernels_e_step_words.py::"
_MEAN = "test_kernels_e_step_mean.py::"
_GIBBS = "test_kernels_gibbs.py::"
_BY_DOCUMENT = "test_kernels_gibbs_documents.py::"
_SUPERVISED = "test_supervised_gibbs.py::"
_DRAWS = "test_draws.py::"
_MARGIN = "test_margin.py::"
_MAP = "test_kernels_map_shares.py::"
_ROWS = "test_prior_rows.py::test_a_step_infers_each_document_by_its_own_row"
_MOVING = "test_of_many_topics_those_that_move_save_passes"
_PULLED = "test_kernels_climb.py::test_topics_are_pulled_towards_their_anchor_as_by_words_of_it"
_ADAM = "test_kernels_climb.py::test_steps_are_those_of_adam_by_the_book_whatever_the_number_of_threads"
_COEF = "test_coefficients.py::"
_CLIMB = "test_regression_slopes.py::test_words_climb_a_quadratic_to_its_top"
_GOLDEN = "test_golden_fits.py::"
_DENSE = _GIBBS + "test_same_topics_as_the_naive_sweep[3-True-False]"
_LISTS = _GIBBS + "test_same_topics_as_the_naive_sweep[40-False-False]"

MUTANTS = [
    *mutants_of(
        "kernels/e_step_words.py",
        (
            "prior, gamma[d], rows)\n        count, ratios",
            "alpha[0], gamma[d], rows)\n        count, ratios",
            _ROWS + "[0-False-False]",
        ),
        (
            "new = alpha[k] + theta[k] * total[k]",
            "new = theta[k] * total[k]",
            _WORDS + "test_plain_inference_equals_the_slow_one",
        ),
        (
            "bound -= share * math.log(theta[k])",
            "bound += share * math.log(theta[k])",
            _WORDS + "test_plain_inference_equals_the_slow_one",
        ),
        (
            "+ math.lgamma(alpha_total) - math.lgamma(alpha_total + total)",
            "- math.lgamma(alpha_total + total)",
            _WORDS + "test_plain_inference_equals_the_slow_one",
        ),
        (
            "0.5 * share * gammas[k, 2]",
            "share * gammas[k, 2]",
            _WORDS + "test_a_series_stands_for_small_shares_in_the_bound",
        ),
        (
            "            _leap(alpha, before, between, gamma)",
            "            pass",
            _WORDS + "test_leaps_and_topics_that_settle_among_themselves_save_passes",
        ),
        (
            "least = alpha[k] + np.float32(0.1) * (gamma[k] - alpha[k])",
            "least = np.float32(0.1) * gamma[k]",
            _WORDS + "test_a_leap_goes_where_passes_lead_and_leaves_a_tenth",
        ),
        (
            "counted[j], others[j] = np.float32(0.0), np.float32(1.0)",
            "counted[j], others[j] = np.float32(0.0), np.float32(0.0)",
            _WORDS + "test_leaps_and_topics_that_settle_among_themselves_save_passes",
        ),
        (
            "left -= own[i, j] * weighed[present[i]]",
            "left -= own[i, j] * theta[present[i]]",
            _WORDS + "test_leaps_and_topics_that_settle_among_themselves_save_passes",
        ),
        (
            "own[at, j] = own[i, j]",
            "own[at, j] = own[0, j]",
            _WORDS + "test_leaps_and_topics_that_settle_among_themselves_save_passes",
        ),
        (
            "ratio[j] = others[j]",
            "ratio[j] = _TINY",
            _WORDS + "test_leaps_and_topics_that_settle_among_themselves_save_passes",
        ),
        ("found[k] -= total", "found[k] += total", _WORDS + "test_expected_log_shares_are_summed_as_written_down"),
        (
            "_exp_digamma(word_topic[w, k]) * scale[k]",
            "_exp_digamma(word_topic[w, k])",
            _WORDS + "test_topics_are_expected_as_written_down",
        ),
        (
            "+ math.lgamma(priors) - total * math.log(total)",
            "+ math.lgamma(priors)",
            "test_collapsed.py::test_inference_ends_at_the_mode_and_the_bound_is_what_is_there",
        ),
    ),
    *mutants_of(
        "kernels/e_step_mean.py",
        ("prior[:] = alpha[row]", "prior[:] = alpha[0]", _ROWS + "[1-False-False]"),
        (
            "            _leap(alpha, before, between, gamma)",
            "            pass",
            _MEAN + "test_leaps_save_passes_and_end_where_single_passes_do",
        ),
        (
            "off <= 10.0 * tol\n        if still",
            "True\n        if still",
            _MEAN + "test_settles_from_both_starts",
        ),
        (
            "curvature[c] / n_tokens * (1.0 - 1.0 / n_tokens) * first",
            "curvature[c] / n_tokens * first",
            _MEAN + "test_fixed_point_is_stationary",
        ),
        (
            "fixed[k] -= half * coef[c, k] * coef[c, k]",
            "fixed[k] += half * coef[c, k] * coef[c, k]",
            _MEAN + "test_fixed_point_is_stationary",
        ),
        ("-curvature[c] * moment / (1.0 + first)", "-curvature[c] * moment", _MEAN + "test_fixed_point_is_stationary"),
        (
            "moment += pairs + (own - pairs) / n_tokens",
            "moment += pairs",
            _MEAN + "test_uncertain_coefficients_enter_the_second_moment",
        ),
        (
            "fixed[k] -= half * coef_cov[c, k, k]",
            "fixed[k] += half * coef_cov[c, k, k]",
            _MEAN + "test_uncertain_coefficients_enter_the_second_moment",
        ),
        ("- math.lgamma(gamma_total)", "", _MEAN + "test_bound_is_the_words_part_of_the_evidence"),
        (
            "weighed[d, k] = theta[k]",
            "weighed[d, k] = gamma[d, k]",
            _MEAN + "test_shares_of_words_are_the_product_of_two_factors",
        ),
    ),
    *mutants_of(
        "kernels/e_step_token.py",
        ("prior = alpha[which[d]]", "prior = alpha[0]", _ROWS + "[1-False-True]"),
        ("fixed[k] -= half * square", "fixed[k] += half * square", _WORDS + "test_fixed_point_is_stationary"),
        (
            "word_bound += count * (log_norm - spoken)",
            "word_bound += count * log_norm",
            _WORDS + "test_bound_is_the_words_part_of_the_evidence",
        ),
        (
            "square += counts[j] * (own_square - own * own)",
            "square += counts[j] * own_square",
            _WORDS + "test_score_moments_equal_enumeration",
        ),
    ),
    *mutants_of(
        "kernels/word_sums.py",
        ("row[k] += count * phi[entry, k]", "row[k] += phi[entry, k]", _WORDS + "test_words_are_added_up_by_word"),
        (
            "row[k] *= step * (weights[word, k] + offset)",
            "row[k] *= weights[word, k] + offset",
            _WORDS + "test_shares_are_added_up_from_their_factors",
        ),
        (
            "(prior - value) * (_digamma(value) - psi_total[k])",
            "(value - prior) * (_digamma(value) - psi_total[k])",
            _WORDS + "test_topics_are_expected_as_written_down",
        ),
    ),
    *mutants_of(
        "kernels/gibbs_words.py",
        (
            "own = np.float32(word_topic_count[word, old]) - one + beta",
            "own = np.float32(word_topic_count[word, old]) + beta",
            _DENSE,
        ),
        (
            "own /= np.float32(topic_count[old]) - one + beta_sum",
            "own /= np.float32(topic_count[old]) + beta_sum",
            _GIBBS + "test_same_topics_where_a_token_is_much_of_its_topic",
        ),
        (
            "own *= np.float32(doc_topic[doc, old]) - one + alpha[row, old]",
            "own *= np.float32(doc_topic[doc, old]) + alpha[row, old]",
            _DENSE,
        ),
        ("keys, old, np.float32(-1))", "keys, old, np.float32(0))", _LISTS),
        ("missing = alpha[old] * (q[old] - own)", "missing = np.float32(0.0)", _LISTS),
        ("smooth_total += change", "smooth_total += np.float32(0)", _LISTS),
    ),
    *mutants_of(
        "kernels/gibbs_topics.py",
        (
            "return draw + np.log(_uniform(key, 0)) / shape if shape < 1.0 else draw",
            "return draw",
            _GIBBS + "test_gamma_draws",
        ),
        ("scale = boosted - 1.0 / 3.0", "scale = boosted", _GIBBS + "test_gamma_draws"),
    ),
    *mutants_of(
        "kernels/gibbs_documents.py",
        (
            "gap[c] += coef[c, old] - coef[c, new]",
            "gap[c] += coef[c, new] - coef[c, old]",
            _BY_DOCUMENT + "test_the_weights_are_those_of_the_conditional[1-35-12-4.0-2.0-False]",
        ),
        (
            "slope[c] - np.float32(0.5) * curve[c] * coefs[c, k]",
            "slope[c] - curve[c] * coefs[c, k]",
            _BY_DOCUMENT + "test_the_weights_are_those_of_the_conditional[1-35-12-4.0-2.0-False]",
        ),
        (
            "own = own_share[old] * (np.float32(word_topic_count[word, old] - 1) + beta)",
            "own = own_share[old] * (np.float32(word_topic_count[word, old]) + beta)",
            _BY_DOCUMENT + "test_same_topics_as_the_naive_sweep[1-False-3-1-False]",
        ),
    ),
    *mutants_of(
        "kernels/gibbs_likelihood.py",
        (
            "score[c] -= shift[c, old]",
            "score[c] -= 0.0",
            _SUPERVISED + "test_same_topics_as_the_naive_sweep[1-kinds3-4]",
        ),
        ("-rate / 6.0", "-rate / 3.0", _SUPERVISED + "test_taylor_series_of_the_likelihood_and_its_remainder"),
        (
            "first = -r * (a + r)",
            "first = -r * a",
            _SUPERVISED + "test_taylor_series_of_the_likelihood_and_its_remainder",
        ),
        ("            topic_count[old] -= 1\n", "", _SUPERVISED + "test_same_topics_as_the_naive_sweep[1-kinds3-4]"),
    ),
    *mutants_of(
        "kernels/draws.py",
        ("boost = math.exp(-power / shape)", "boost = 1.0", _DRAWS + "test_draws_follow_their_law"),
        (
            "return 1.0 / (inverse_mean * ratio), stream",
            "return 1.0 / reciprocal, stream",
            _DRAWS + "test_draws_follow_their_law",
        ),
        (
            "variance -= weight * weight",
            "variance -= weight",
            _DRAWS + "test_polya_gamma_follows_its_law",
        ),
        ("return 0.25 * y, stream", "return 0.5 * y, stream", _DRAWS + "test_polya_gamma_follows_its_law"),
        ("x = upper - scale * z", "x = upper + scale * z", _DRAWS + "test_truncated_normal_far_in_the_tail"),
    ),
    *mutants_of(
        "kernels/lasso.py",
        ("size = abs(pull) - penalty[k]", "size = abs(pull)", _COEF + "test_descent_is_the_slow_one"),
        ("pull = slope[k] + gram[k, k] * coef[k]", "pull = slope[k]", _COEF + "test_descent_is_the_slow_one"),
        ("size = abs(pull) - sparse", "size = abs(pull)", _CLIMB),
        ("pull = curvature[v] * coef[v]", "pull = 0.0", _CLIMB),
        ("slope[d] -= weight[d] * step", "pass", _CLIMB),
        ("if sweep > 0 and coef[v] == 0.0:", "if coef[v] == 0.0:", _CLIMB),
    ),
    *mutants_of(
        "kernels/dual_descent.py",
        ("shift = epsilon / norm", "shift = 0.0", _MARGIN + "test_the_objective_is_the_oracles"),
        (
            "coef[c, k] -= step * variance[c, k] * row[k]",
            "coef[c, k] -= step * row[k]",
            _MARGIN + "test_the_objective_is_the_oracles",
        ),
        (
            "loss += bound[d] * (most - row[own])",
            "loss += most - row[own]",
            _MARGIN + "test_worst_classes_and_their_sums",
        ),
        (
            "2.0 * gram[best, j], 1e-300)",
            "gram[best, j], 1e-300)",
            _MARGIN + "test_an_exchange_of_two_planes_ends_at_their_optimum",
        ),
    ),
    *mutants_of(
        "kernels/climb.py",
        ("gradient[w, k] - topics[w, k] * totals[k]", "gradient[w, k]", _ADAM),
        ("np.sqrt(second * inverse)", "np.sqrt(second)", _ADAM),
        ("topics[w, k] *= by[k]", "pass", _ADAM),
        ("prior + pull * anchor[w, k]", "prior", _PULLED),
        ("prior + pull * anchor[w, k]", "prior + pull", _PULLED),
    ),
    *mutants_of(
        "inference/variational/climb.py",
        ("self.pull / self.logits.shape[1]", "self.pull", _PULLED),
    ),
    *mutants_of(
        "kernels/thinning.py",
        (
            "2.0**-24) >= dropped",
            "2.0**-24) >= 0.5 * dropped",
            "test_kernels_climb.py::test_words_that_are_dropped_are_not_there",
        ),
    ),
    *mutants_of(
        "kernels/map_shares.py",
        (
            "new = (theta[k] * total[k] + alpha[k]) / size",
            "new = theta[k] * total[k] / size",
            _MAP + "test_shares_are_the_fixed_point_and_the_mode",
        ),
        ("_leap(before, between, own)", "pass", _MAP + "test_leaps_save_half_of_the_passes"),
        ("others[j] -= column[j] * before[k]", "pass", _MAP + _MOVING),
        ("new = (theta[k] * total + alpha[k]) / size", "new = theta[k] * total / size", _MAP + _MOVING),
        (
            "product[k] = alpha[k] * vector[k]",
            "product[k] = np.float32(0.0)",
            _MAP + "test_adjoint_is_the_dense_solution",
        ),
        (
            "_take_prior(alpha[which[d]], prior)\n        _copy_words",
            "_take_prior(alpha[0], prior)\n        _copy_words",
            _MAP + "test_adjoint_is_the_dense_solution",
        ),
        (
            "size = _take_prior(alpha[which[d]], prior)",
            "size = _take_prior(alpha[0], prior)",
            _MAP + "test_shares_are_the_fixed_point_and_the_mode",
        ),
        (
            "residual[k] = own[k] * gradient[d, k]",
            "residual[k] = gradient[d, k]",
            _MAP + "test_adjoint_is_the_dense_solution",
        ),
        (
            "row[k] += by * own[k] * (by_document[k] - less)",
            "row[k] += by * own[k] * by_document[k]",
            _MAP + "test_gradient_by_word_is_that_of_differences_through_the_fixed_point",
        ),
    ),
    *mutants_of(
        "kernels/one_topic.py",
        (
            "probabilities[k] += math.lgamma(base) - math.lgamma(base + n_tokens)",
            "probabilities[k] -= math.lgamma(base + n_tokens)",
            "test_mixture.py::test_sampler_visits_each_assignment_as_often_as_the_posterior_says",
        ),
        (
            "logs[k] += count * log_weights[word, k]",
            "logs[k] += log_weights[word, k]",
            "test_mixture.py::test_responsibilities_are_bayes_rule",
        ),
    ),
    *mutants_of(
        "kernels/sentences.py",
        (
            "ahead[k] = (1.0 - eps) * ahead[k] + eps * anew",
            "ahead[k] = (1.0 - eps) * ahead[k]",
            "test_htmm.py::test_likelihood_and_posteriors_are_sums_over_all_paths",
        ),
        (
            "part = chance * new / (new + (1.0 - eps) * filtered[s - 1, k])",
            "part = chance * eps",
            "test_htmm.py::test_likelihood_and_posteriors_are_sums_over_all_paths",
        ),
    ),
    *mutants_of(
        "kernels/deviations.py",
        (
            "step[j] += total * beta[j] / (total * beta[j] + weight[j]) * along / left",
            "step[j] += 0.0",
            "test_deviations.py::test_newton_step_solves_the_dense_system",
        ),
        (
            "return 1.0 / square, 0.5 * math.log",
            "return square, 0.5 * math.log",
            "test_deviations.py::test_jeffreys_weight_is_one_over_the_square",
        ),
        (
            "loss = abs(counts[i, w] - expected) * abs(value) + expected * value * value",
            "loss = 0.0",
            "test_facets.py::test_a_small_deviation_is_dropped_only_where_zero_is_better",
        ),
    ),
    *mutants_of(
        "kernels/heldout.py",
        (
            "n_particles * (alpha_sum + n)",
            "n_particles * alpha_sum",
            "test_metrics_heldout.py::test_estimates_are_unbiased[counts0-3-left_to_right-options0-40000]",
        ),
        (
            "new = alpha[k] + weight[k] * update[k]",
            "new = weight[k] * update[k]",
            "test_metrics_heldout.py::test_completion_is_the_variational_predictive",
        ),
    ),
]
